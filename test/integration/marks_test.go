// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// unused deletes ConfigMaps some time after the label unused is set. No field has the time of that, so Sunset records it.
const unused = `
mode: %s
rules:
- name: unused
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {test: marks}}}
  eligible: "object.metadata.labels[?'unused'].orValue('') == 'yes'"
  ttl: %s
`

func (w *env) label(cm *corev1.ConfigMap, value string) {
	w.Helper()
	w.merge(cm, fmt.Sprintf(`{"metadata":{"labels":{"unused":%s}}}`, value))
}

// mark waits for a mark by Sunset as the only mark on an object.
func (w *env) mark(o client.Object) (at time.Time) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		text := o.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]
		marks := policy.ParseMarks(text)
		if len(marks) != 1 || strings.Contains(text, "0123456789abcdef") {
			return fmt.Errorf("marked %s", text)
		}
		for _, at = range marks {
		}
		return nil
	})
	return at
}

// unmarked waits until the annotation is removed.
func (w *env) unmarked(cm *corev1.ConfigMap) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			return err
		}
		value, ok := cm.Annotations[v1alpha1.EligibleSinceAnnotation]
		return cluster.Want(!ok, "still marked %s", value)
	})
}

var marked = map[string]string{"test": "marks"}

// TestMarkSurvivesARestart: the time before the restart counts.
func TestMarkSurvivesARestart(t *testing.T) {
	w := newEnv(t)
	stop := w.sunset()
	w.policy("unused", fmt.Sprintf(unused, "Enforce", "10s"))
	cm := w.configMap("cm", marked)
	w.label(cm, `"yes"`)
	at := w.mark(cm)
	stop()
	w.sunset()
	if again := w.mark(cm); !again.Equal(at) {
		t.Errorf("marked %s, after the restart %s", at, again)
	}
	w.gone(cm)
	if early := time.Until(at.Add(10 * time.Second)); early > 0 {
		t.Errorf("deleted %s early", early)
	}
}

// TestForgedAndForeignMarks: an old forged mark counts from the object's creation at most; a mark under another key is
// ignored.
func TestForgedAndForeignMarks(t *testing.T) {
	w := newEnv(t)
	stop := w.sunset()
	w.policy("unused", fmt.Sprintf(unused, "Enforce", "12s"))
	forged, foreign := w.configMap("forged", marked), w.configMap("foreign", marked)
	w.label(forged, `"yes"`)
	w.mark(forged)
	stop()
	text := forged.Annotations[v1alpha1.EligibleSinceAnnotation]
	year := time.Now().UTC().Format("2006-")
	w.setAnnotation(forged, v1alpha1.EligibleSinceAnnotation, fmt.Sprintf("%q", strings.Replace(text, year, "2001-", 1)))
	w.setAnnotation(foreign, v1alpha1.EligibleSinceAnnotation, `"{\"0123456789abcdef\":\"2001-01-01T00:00:00Z\"}"`)
	w.label(foreign, `"yes"`)
	began := time.Now()
	w.sunset()
	if at := w.mark(foreign); at.Before(began.Truncate(time.Second)) {
		t.Errorf("the foreign mark is used: %s", at)
	}
	w.gone(forged)
	if early := time.Until(forged.CreationTimestamp.Add(12 * time.Second)); early > 0 {
		t.Errorf("the object with the forged mark was deleted %s early", early)
	}
}

// TestDryRunMarksNothing: a dry run writes no marks and reports its numbers as estimates.
func TestDryRunMarksNothing(t *testing.T) {
	w, g := behindProxy(t)
	writes := recorded(g, func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/configmaps/")
	})
	p := w.policy("unused", fmt.Sprintf(unused, "DryRun", "1h"))
	cm := w.configMap("cm", marked)
	w.label(cm, `"yes"`)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Due.Hour == 1 && s.Rules[0].Estimated == 1, "not estimated")
	})
	if w := writes(); len(w) > 0 {
		t.Errorf("a dry run wrote: %v", w)
	}
}

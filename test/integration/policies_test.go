// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/proxy"
)

func TestUnknownFieldMakesItsRuleInvalidAndKeeps(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s")+`
  keepNewestt: {count: 3}
- name: others
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {other: "yes"}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	w.expect(p, v1alpha1.ConditionValid, "RuleInvalid", "spec.rules[0].keepNewestt", "unknown")
	kept, goes := w.configMap("kept", preview), w.configMap("goes", map[string]string{"other": "yes"})
	w.gone(goes)
	w.stays(time.Second, kept)
}

func TestInvalidCELIsReportedWithItsPosition(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("jobs", `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object) && now > object.metadata.creationTimestamp
  startTime: finishedAt(object)
  ttl: 1d
`)
	w.expect(p, v1alpha1.ConditionValid, "RuleInvalid", "spec.rules[0].eligible:1:21", "startTime")
	w.expect(p, v1alpha1.ConditionReady, "RuleInvalid")
}

func TestSchemaWarningsNeverStopARule(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("jobs", `
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: object.?status.?sukceeded.orValue(0) > 0
  startTime: finishedAt(object)
  ttl: 1d
`)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if len(s.Rules) != 1 || len(s.Rules[0].Warnings) == 0 {
			return errors.New("no warning")
		}
		if w.condition(s, v1alpha1.ConditionReady).Status != metav1.ConditionTrue {
			return errors.New("not ready")
		}
		return contains(s.Rules[0].Warnings[0], "sukceeded", "spec.rules[0].eligible:1:")
	})
}

// TestTypoIsReportedOnAllPoliciesThatItStops: status and Events report the error on the policy with the failing rule and on
// the policy that it blocks.
func TestTypoIsReportedOnAllPoliciesThatItStops(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	typo := w.policy("typo", `
mode: Enforce
rules:
- name: expired
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: object.data.expierd == "yes"
  startTime: object.metadata.creationTimestamp
  ttl: 1d
`)
	other := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	fails := w.configMap("fails", preview)
	w.status(typo, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Errors != 1 || len(s.Rules[0].ErrorSamples) != 1 || len(s.Blocks) != 1 || s.Blocks[0].Policy != other.Name {
			return errors.New("the status lacks the error or the number of blocked objects")
		}
		return contains(s.Rules[0].ErrorSamples[0].Message, "eligible", "data")
	})
	w.expect(typo, v1alpha1.ConditionReady, "EvaluationFailed", "rule expired fails on 1 of 1 object", w.namespace+"/fails", other.Name)
	w.status(other, func(s v1alpha1.RetentionPolicyStatus) error {
		if c := w.condition(s, v1alpha1.ConditionBlocked); s.Blocked != 1 || c.Status != metav1.ConditionTrue {
			return errors.New("the policy is not blocked")
		}
		return contains(w.condition(s, v1alpha1.ConditionBlocked).Message, typo.Name, "kubectl sunset explain configmap/fails -n "+w.namespace)
	})
	w.event("default", "ClusterRetentionPolicy", typo.Name, "fails on 1 of 1 object")
	w.event("default", "ClusterRetentionPolicy", other.Name, "1 by rule expired of ClusterRetentionPolicy "+typo.Name)
	w.stays(500*time.Millisecond, fails)
	w.edit(typo, func(spec *v1alpha1.ClusterRetentionPolicySpec) {
		spec.Rules[0].Eligible = `object.?data.?expired.orValue("") == "yes"`
	})
	w.gone(fails)
	w.event("default", "ClusterRetentionPolicy", typo.Name, "the policy is ready again")
	w.event("default", "ClusterRetentionPolicy", other.Name, "rules of other policies no longer keep")
}

func TestDeleteIsOneRequestWithPreconditions(t *testing.T) {
	w := newEnv(t)
	g := proxy.New(t, w.plane.Config())
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "1s"))
	seen := recorded(g, func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/namespaces/"+w.namespace+"/configmaps/")
	})
	for i := range 20 {
		w.configMap(fmt.Sprintf("cm-%d", i), preview)
	}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 20, "not all deleted")
	})
	requests := seen()
	if len(requests) != 20 {
		t.Errorf("%d requests for 20 deletions: %v", len(requests), requests)
	}
	for _, request := range requests {
		if err := contains(request, "DELETE", `"uid":"`, `"resourceVersion":"`, `"propagationPolicy":"Background"`); err != nil {
			t.Error(err)
		}
	}
}

func TestDeletionsAreReportedInEventsOfThePolicy(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s")+"  events: PerObject\n")
	w.gone(w.configMap("cm", preview))
	w.event(w.namespace, "ConfigMap", "cm", "deleted by rule "+p.Name+"/previews")
	w.event("default", "ClusterRetentionPolicy", p.Name, "rule previews deleted 1 ConfigMap")
}

// event waits for an Event on an object.
func (w *env) event(namespace, kind, name, note string) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		list := &eventsv1.EventList{}
		if err := w.List(w.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Kind == kind && e.Regarding.Name == name && strings.Contains(e.Note, note) {
				return nil
			}
		}
		return fmt.Errorf("no Event on %s %s", kind, name)
	})
}

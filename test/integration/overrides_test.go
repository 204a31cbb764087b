// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// team creates a RetentionPolicy with this spec in YAML in the test's namespace, and deletes it at the end of the test.
func (w *env) team(name, spec string) *unstructured.Unstructured {
	w.Helper()
	object := w.own(name, spec)
	cluster.Eventually(w, patience, func() error { // another test may have installed admission policies
		return client.IgnoreAlreadyExists(w.Client.Create(w.Context(), object))
	})
	w.Cleanup(func() { _ = w.Client.Delete(context.Background(), object) })
	return object
}

// teamStatus waits until the status of a RetentionPolicy satisfies want.
func (w *env) teamStatus(p *unstructured.Unstructured, want func(v1alpha1.RetentionPolicyStatus) error) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		current := p.DeepCopy()
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), current); err != nil {
			return err
		}
		var status v1alpha1.RetentionPolicyStatus
		written, _, _ := unstructured.NestedMap(current.Object, "status")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written, &status); err != nil {
			return err
		}
		if err := want(status); err != nil {
			return cluster.WithYAML(err, status)
		}
		return nil
	})
}

// clusterRule returns the status of the only cluster rule in the namespace of a RetentionPolicy.
func clusterRule(s v1alpha1.RetentionPolicyStatus) (v1alpha1.ClusterRuleStatus, error) {
	if len(s.ClusterRules) != 1 {
		return v1alpha1.ClusterRuleStatus{}, fmt.Errorf("%d cluster rules, want 1", len(s.ClusterRules))
	}
	return s.ClusterRules[0], nil
}

// bounded is previews with bounds for namespaces and objects.
func bounded(mode, ttl, bounds string) string {
	return fmt.Sprintf(previews, mode, ttl) + "  overrideBounds: " + bounds + "\n"
}

// TestNamespaceChangesARuleWithinItsBounds: a namespace may shorten the TTL to the minimum of the rule, and no further.
func TestNamespaceChangesARuleWithinItsBounds(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", bounded("Enforce", "1h", "{minTTL: 2s}"))
	cm := w.configMap("cm", preview)
	w.stays(time.Second, cm)
	team := w.team("defaults", fmt.Sprintf("mode: Enforce\noverrides: [{policy: %s, rule: previews, ttl: 1s}]", p.Name))
	w.gone(cm)
	w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
		rule, err := clusterRule(s)
		switch {
		case err != nil:
			return err
		case rule.TTL != "2s" || len(rule.Messages) != 1:
			return errors.New("the TTL or the number of messages differs")
		}
		return contains(rule.Messages[0], "ttl 1s is raised to 2s", "the minimum of the rule")
	})
}

// TestOverrideCanOnlyLengthenTTLByDefault: without override in the rule a namespace can only lengthen the TTL, and
// its dry run shows the effect of other overrides.
func TestOverrideCanOnlyLengthenTTLByDefault(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "3s"))
	longer := w.team("longer", fmt.Sprintf("overrides: [{policy: %s, ttl: 1h}]", p.Name)) // a dry run applies too
	w.team("shorter", fmt.Sprintf("mode: Enforce\noverrides: [{policy: %s, ttl: 1s}]", p.Name))
	w.teamStatus(longer, func(s v1alpha1.RetentionPolicyStatus) error {
		rule, err := clusterRule(s)
		if err == nil && rule.TTL != "1h" {
			err = errors.New("the longer TTL does not apply")
		}
		return err
	})
	cm := w.configMap("cm", preview)
	w.stays(5*time.Second, cm)
	w.teamStatus(longer, func(s v1alpha1.RetentionPolicyStatus) error {
		rule, err := clusterRule(s)
		if err == nil && (rule.Matched != 1 || rule.Eligible != 1 || rule.Due.Day != 1 || rule.NextDueTime == nil) {
			err = errors.New("the namespace's own numbers are wrong")
		}
		return err
	})
	expect.NoError(t, w.Client.Delete(t.Context(), longer))
	w.gone(cm)
}

// TestSuspendedRuleKeepsInItsNamespace: the suspension of a rule applies within a second, even if the watch is frozen.
func TestSuspendedRuleKeepsInItsNamespace(t *testing.T) {
	w, g := behindProxy(t)
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "8s"))
	w.gone(w.configMap("probe", preview))
	cm := w.configMap("cm", preview)
	thaw := g.Freeze(nil)
	w.team("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	w.stays(10*time.Second, cm)
	thaw()
}

func TestOverrideOfAMissingRuleIsReported(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "DryRun", "1h"))
	team := w.team("typos", fmt.Sprintf("overrides: [{policy: %sx, suspend: true}, {policy: %s, rule: preview, suspend: true}]", p.Name, p.Name))
	w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
		return contains(w.condition(s, v1alpha1.ConditionValid).Message,
			"spec.overrides[0].policy", "did you mean "+p.Name, "spec.overrides[1].rule", "did you mean previews?")
	})
}

// TestUnreadableOverrideSuspends: a rule with an override that cannot be parsed is suspended, because the author may have
// meant to keep objects.
func TestUnreadableOverrideSuspends(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "2s"))
	team := w.team("typo", fmt.Sprintf("overrides: [{policy: %s, ttl: 30d, keepAll: true}]", p.Name))
	w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
		rule, err := clusterRule(s)
		if err == nil && rule.Mode != v1alpha1.Suspend {
			err = errors.New("not suspended")
		}
		return err
	})
	w.stays(4*time.Second, w.configMap("cm", preview))
}

// TestObjectSetsItsOwnTimeToLive: an annotation sets the TTL of an object, at its creation or later, within the bounds of
// the rule. An annotation that cannot be parsed keeps the object and is reported.
func TestObjectSetsItsOwnTimeToLive(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", bounded("Enforce", "1h", "{minTTL: 1s, maxTTL: 2h, ttlAnnotation: WithinBounds}"))
	early := w.configMap("early", preview)
	malformed := w.configMap("malformed", preview)
	plain := w.configMap("plain", preview)
	w.setAnnotation(malformed, v1alpha1.TTLAnnotation, `"soon"`)
	w.setAnnotation(early, v1alpha1.TTLAnnotation, `"0s"`)
	w.gone(early)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Errors != 1 || len(s.Rules[0].ErrorSamples) != 1 {
			return errors.New("the malformed annotation is not reported")
		}
		return contains(s.Rules[0].ErrorSamples[0].Message, v1alpha1.TTLAnnotation, `"soon"`)
	})
	w.stays(time.Second, malformed, plain)
	w.setAnnotation(malformed, v1alpha1.TTLAnnotation, `"1s"`)
	w.gone(malformed)
}

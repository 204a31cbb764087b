// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// preview is the label that most policies here select.
var preview = map[string]string{"env": "preview"}

// previews deletes ConfigMaps of preview environments some time after their creation.
func previews(mode v1alpha1.Mode, ttl string) string { return labelled("preview", mode, ttl) }

// labelled deletes ConfigMaps of an environment some time after their creation.
func labelled(env string, mode v1alpha1.Mode, ttl string) string {
	return fmt.Sprintf(`
mode: %s
rules:
- name: %s
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: %s}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: %s
`, mode, env, env, ttl)
}

// limited limits a policy to n deletions within an hour.
func limited(n int) string { return fmt.Sprintf("limits: {maxDeletions: %d, window: 1h}\n", n) }

// configMaps creates n ConfigMaps, named prefix-0 and so on.
func configMaps(s *scenario.Scenario, prefix string, n int, labels map[string]string) []*corev1.ConfigMap {
	s.Helper()
	all := make([]*corev1.ConfigMap, n)
	for i := range all {
		all[i] = s.ConfigMap(fmt.Sprintf("%s-%d", prefix, i), labels)
	}
	return all
}

// enforces sets the mode Enforce and a TTL of zero.
func enforces(spec *v1alpha1.ClusterRetentionPolicySpec) { enforcesAfter("0s")(spec) }

// enforcesAfter sets the mode Enforce and a TTL.
func enforcesAfter(ttl string) func(*v1alpha1.ClusterRetentionPolicySpec) {
	return func(spec *v1alpha1.ClusterRetentionPolicySpec) {
		spec.Mode, spec.Rules[0].TTL = v1alpha1.Enforce, ttl
	}
}

func suspends(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Mode = v1alpha1.Suspend }

// counted waits until a policy's status has matched the given number of objects.
func counted(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, matched int64) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.ObservedGeneration > 0 && status.Matched == matched, "want %d matched objects", matched)
	})
}

// tells waits until a condition of a policy is not True, for a reason, and its message contains words.
func tells(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, condition, reason string, words ...string) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		c := scenario.Condition(status, condition)
		if c.Status == metav1.ConditionTrue || c.Reason != reason {
			return fmt.Errorf("%s is %s, %s", condition, c.Status, c.Reason)
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("%q is missing in %q", word, c.Message)
			}
		}
		return nil
	})
}

// approve approves the pending approval of a policy.
func approve(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
	s.Helper()
	var hash string
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if status.PendingApproval == nil {
			return errors.New("the policy does not wait for approval")
		}
		hash = status.PendingApproval.Hash
		return nil
	})
	s.MustCreate(fixture.Approval(p, hash))
}

// approveUntil approves what waits for approval until a condition is met. A leader that has just begun may count a change again, which
// then needs an approval of its own.
func approveUntil(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, met func() error) {
	s.Helper()
	approved := sets.New[string]()
	s.Eventually(func() error {
		now := &v1alpha1.ClusterRetentionPolicy{}
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(p), now); err != nil {
			return err
		}
		if pending := now.Status.PendingApproval; pending != nil && !approved.Has(pending.Hash) {
			s.MustCreate(fixture.Approval(p, pending.Hash))
			approved.Insert(pending.Hash)
		}
		return met()
	})
}

// with returns the entries that the API server answered with a code.
func with(code int, entries []proxy.Entry) (some []proxy.Entry) {
	for _, e := range entries {
		if e.Answered == code {
			some = append(some, e)
		}
	}
	return some
}

// since returns the entries that arrived after a time.
func since(t time.Time, entries []proxy.Entry) (some []proxy.Entry) {
	for _, e := range entries {
		if e.At.After(t) {
			some = append(some, e)
		}
	}
	return some
}

// expectPreconditions fails the test if a DELETE could have removed another version than the evaluated one.
func expectPreconditions(t *testing.T, deletes []proxy.Entry) {
	t.Helper()
	for _, e := range deletes {
		if body := string(e.Body); !strings.Contains(body, `"uid"`) || !strings.Contains(body, `"resourceVersion"`) {
			t.Errorf("DELETE %s without preconditions: %s", e.Path, body)
		}
	}
}

// relists matches requests that start a watch: a LIST, or a watch that starts with one. It does not match a live list before
// a deletion, which has no pages and no resourceVersion.
func relists(resource string) proxy.Match {
	return proxy.Requests("list", resource).Or(proxy.Requests("watch", resource)).And(func(r *http.Request) bool {
		query := r.URL.Query()
		watch := query.Has("watch")
		return watch && query.Get("sendInitialEvents") == "true" || !watch && !query.Has("continue") && (query.Has("limit") || query.Has("resourceVersion"))
	})
}

// resumes matches watches that resume where another one ended.
func resumes(resource string) proxy.Match {
	return proxy.Requests("watch", resource).And(func(r *http.Request) bool {
		return r.URL.Query().Get("sendInitialEvents") != "true"
	})
}

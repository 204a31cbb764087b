// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/scrape"
)

func perObject(r *policy.Rule) { r.Events = v1alpha1.EventsPerObject }

func TestEventsAreSummedUp(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		for range 100 {
			w.removed(10, rule("a"))
			bubble.Pass(100 * time.Millisecond)
		}
		w.removed(1, rule("b"))
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "events", []string{
			"15s ClusterRetentionPolicy/p Normal Deleted: rule a deleted 1000 Job in 15s",
			"25s ClusterRetentionPolicy/p Normal Deleted: rule b deleted 1 Job in 15s",
		}, w.events())
	})
}

func TestEventsAboutSingleObjectsAreBounded(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		single := rule("a", perObject)
		w.removed(2, single)
		bubble.Pass(time.Second)
		due := w.began.UTC().Format(time.RFC3339)
		expect.Equal(t, "events", []string{
			"1s Job/team-a/job-0 Normal Expired: deleted by rule p/a, due " + due + " by p",
			"1s Job/team-a/job-1 Normal Expired: deleted by rule p/a, due " + due + " by p",
		}, w.events())
		w.removed(5_000, single)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "Events of a burst", 2+status.PerObjectAtATick, len(w.events()))
		bubble.Pass(10 * time.Second)
		told := w.events()
		want := fmt.Sprintf("rule a deleted 5002 Job in 15s; %d of them have no Event of their own, because there were too many", 5_000-status.PerObjectAtATick)
		if last := told[len(told)-1]; !strings.HasSuffix(last, want) {
			t.Errorf("last Event %q", last)
		}
	})
}

func TestEventsThatNobodyTakesAreCounted(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.set(func() { w.deaf = true })
		w.removed(3, rule("a", perObject))
		bubble.Pass(5 * time.Second)
		w.set(func() { w.deaf = false })
		w.removed(1, rule("a", perObject))
		bubble.Pass(15 * time.Second)
		told := w.events()
		if len(told) != 2 || !strings.HasSuffix(told[1], "rule a deleted 4 Job in 15s; 3 of them have no Event of their own, because there were too many") {
			t.Errorf("events %q", told)
		}
	})
}

// TestEventsAboutPoliciesAreNotLost: they are queued again until there is room.
func TestEventsAboutPoliciesAreNotLost(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.set(func() { w.deaf, w.preflightErr = true, errors.New("clock skew") })
		w.removed(3, rule("a"))
		w.Attempted(retention.Busy)
		bubble.Pass(time.Minute)
		w.removed(4, rule("a"))
		bubble.Pass(time.Minute)
		w.set(func() { w.deaf = false })
		bubble.Pass(10 * time.Second)
		told := strings.Join(w.events(), "\n")
		if !strings.Contains(told, "rule a deleted 7 Job in 2m") || strings.Count(told, "Warning") != 1 {
			t.Errorf("events\n%s", told)
		}
		w.set(func() { w.deaf, w.preflightErr = true, nil })
		w.Attempted(retention.Busy)
		bubble.Pass(time.Minute)
		w.set(func() { w.deaf = false })
		bubble.Pass(10 * time.Second)
		if last := w.events()[len(w.events())-1]; !strings.Contains(last, "Normal Ready") {
			t.Errorf("last Event %q", last)
		}
	})
}

func TestEventNamesObjectAndRule(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		single := rule("a", perObject, func(r *policy.Rule) { r.ID.Policy, r.Namespace = "team-a/own", "team-a" })
		w.Removed(retention.Removal{
			Kind: fixture.Jobs, Subject: policy.Subject{Namespace: "team-a", Name: "nightly", UID: "uid-nightly", ResourceVersion: "7"},
			Rule: single, Reason: policy.OverCapacity, Outcome: "Failed", Due: now, At: time.Now(),
		})
		bubble.Pass(time.Second)
		want := []*eventsv1.Event{{
			Regarding: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "team-a", Name: "nightly", UID: "uid-nightly", ResourceVersion: "7"},
			Related:   &corev1.ObjectReference{APIVersion: "sunset-k8s.io/v1alpha1", Kind: "RetentionPolicy", Namespace: "team-a", Name: "own", UID: "uid-p"},
			Type:      "Normal", Reason: "OverCapacity", Action: "Delete",
			Note: "deleted by rule team-a/own/a, due 2026-03-01T12:00:00Z, outcome Failed",
		}}
		w.mu.Lock()
		defer w.mu.Unlock()
		expect.Equal(t, "raw", want, w.raw)
	})
}

func TestNamesAreNoFormats(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.removed(1, rule("100%d"))
		bubble.Pass(20 * time.Second)
		if told := w.events(); len(told) != 1 || !strings.Contains(told[0], "rule 100%d deleted") {
			t.Errorf("events %v", told)
		}
	})
}

// TestRulesThatAreGoneLeaveNoMetrics: otherwise, a user who renames a rule with each edit would add series for as long as the
// policy exists. The same applies to a deletion whose response arrives after its policy is deleted.
func TestRulesThatAreGoneLeaveNoMetrics(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		witness := metrics.Observer{Next: w.Reporter}
		removes := func(r *policy.Rule) {
			r.ID.Policy = "renamed"
			witness.Removed(retention.Removal{Kind: fixture.Jobs, Rule: r, Reason: policy.Expired, Due: time.Now(), At: time.Now()})
		}
		for i := range 100 {
			r := rule(fmt.Sprint("rule-", i))
			p := policyOf(v1alpha1.Enforce, r)
			p.Name, r.ID.Policy = "renamed", "renamed"
			w.create(p, v1alpha1.RetentionPolicyStatus{})
			removes(r)
			bubble.Pass(10 * time.Second)
		}
		series := func() (n int) {
			for sample := range scrape.Of(t, registry.Registry) {
				if strings.HasPrefix(sample, "sunset_deletions_total ") && strings.Contains(sample, " policy=renamed ") {
					n++
				}
			}
			return n
		}
		if n := series(); n > 2 {
			t.Errorf("a policy with one rule has %d series", n)
		}
		w.Use(compiledOf())
		bubble.Pass(time.Minute)
		removes(rule("late"))
		bubble.Pass(time.Minute)
		if n := series(); n > 0 {
			t.Errorf("a deleted policy has %d series", n)
		}
	})
}

// TestSnapshotsHaveEvents: an Event about the claim says when its VolumeSnapshot was created, and why it is slow.
func TestSnapshotsHaveEvents(t *testing.T) {
	claim := policy.Subject{Namespace: "team-a", Name: "data", UID: "u", ResourceVersion: "7"}
	const about = "PersistentVolumeClaim/team-a/data "
	slow := &retention.Delay{Reason: retention.SnapshotFailed, Message: "VolumeSnapshot team-a/s cannot be used: no space"}
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.Snapshotted(retention.SnapshotNotice{Rule: rule("a"), Subject: claim, Name: "s"})
		created := "0s " + about + "Normal SnapshotCreated: VolumeSnapshot s created by rule p/a; the claim is deleted when it is ready to use by p"
		expect.Equal(t, "at once", []string{created}, w.events())
		bubble.Pass(10 * time.Minute)
		w.Snapshotted(retention.SnapshotNotice{Rule: rule("a"), Subject: claim, Name: "s", Slow: slow})
		slowly := "10m0s " + about + "Warning SnapshotFailed: not deleted by rule p/a for more than 10m: VolumeSnapshot team-a/s cannot be used: no space by p"
		expect.Equal(t, "after ten minutes", []string{created, slowly}, w.events())
	})
}

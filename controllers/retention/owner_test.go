// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// owners makes a rule delete the owners of Pods. ownedBy gives a Pod its Job.
func owners(r *policy.Rule) { r.Kind, r.Owner, r.TTL = fixture.Pods, true, 0 }

func ownedBy(job string) func(*draft) {
	return func(r *draft) {
		r.Facts.Owner = &policy.Owner{Kind: fixture.Jobs, Name: job, UID: types.UID("uid-" + job)}
	}
}

// targetOf returns the owner that an intent deletes, at a version.
func targetOf(i policy.Intent, version string) policy.Target {
	o := i.Owner
	return policy.Target{Kind: o.Kind, Namespace: i.Subject.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: version}
}

// sourceOf returns the source of a kind.
func (w *harness) sourceOf(kind schema.GroupVersionKind) *source {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sources {
		if s.asks.Kind == kind {
			return s
		}
	}
	w.t.Fatalf("no source of %s", kind.Kind)
	return nil
}

// resolvesTarget returns the targets that were resolved so far.
func (w *harness) resolvesTarget() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resolved
}

func TestOwnerGoesInstead(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("pods", owners), row("pod", time.Now(), ownedBy("job")), row("orphan", time.Now()))
		bubble.Pass(time.Hour)
		want := []string{"0s removed job", "0s witnessed pod by pods/pods, due 0s"}
		expect.Equal(t, "happened", want, w.happened())
		if w.removed(); len(w.resolvesTarget()) != 1 {
			t.Errorf("resolved %v", w.resolvesTarget())
		}
	})
}

// TestOwnerVerdictOfAKindWithoutRules: the kind no longer has a rule that may be evaluated, and is watched for
// another minute.
func TestOwnerVerdictOfAKindWithoutRules(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("jobs"), fixture.Rule("pods", owners))
		w.sourceOf(fixture.Jobs).list(row("job", time.Now(), func(r *draft) { r.Facts.Eligible = false }))
		w.use(fixture.Rule("jobs", func(r *policy.Rule) { r.Unwatched = true }), fixture.Rule("pods", owners))
		w.sourceOf(fixture.Pods).list(row("pod", time.Now(), ownedBy("job")))
		bubble.Pass(3 * time.Hour)
		expect.Equal(t, "removed", none, w.removed())
	})
}

// TestOwnerVerdictOfItsOwnRules has rules about Jobs, and checks when the Job is deleted.
func TestOwnerVerdictOfItsOwnRules(t *testing.T) {
	const never, soon = -1 * time.Second, 0 * time.Second
	facts := func(f policy.Facts) func(*draft) { return func(r *draft) { r.Facts = f } }
	longAgo := func(r *draft) { r.Created, r.Facts.Start = r.Created.Add(-48*time.Hour), r.Created.Add(-48*time.Hour) }
	held := func(r *draft) { r.Flags |= policy.IsHeld }
	tests := map[string]struct {
		rules []*policy.Rule
		job   func(*draft)
		goes  time.Duration
	}{
		"no rule":                     {nil, nil, soon},
		"not selected":                {[]*policy.Rule{fixture.Rule("jobs")}, facts(policy.Facts{}), soon},
		"not eligible":                {[]*policy.Rule{fixture.Rule("jobs")}, facts(policy.Facts{Selected: true}), soon},
		"without a start time":        {[]*policy.Rule{fixture.Rule("jobs")}, facts(policy.Facts{Selected: true, Eligible: true}), soon},
		"due":                         {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0))}, nil, soon},
		"due in a minute":             {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(time.Minute))}, nil, time.Minute},
		"due in an hour":              {[]*policy.Rule{fixture.Rule("jobs")}, nil, time.Hour},
		"held":                        {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0))}, held, never},
		"suspended":                   {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), fixture.Mode(v1alpha1.Suspend))}, nil, never},
		"suspended and not eligible":  {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), fixture.Mode(v1alpha1.Suspend))}, facts(policy.Facts{Selected: true}), soon},
		"an error":                    {[]*policy.Rule{fixture.Rule("jobs")}, facts(policy.Facts{Selected: true, Err: errors.New("no such key")}), never},
		"kept by one of two":          {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0)), fixture.Rule("more", fixture.Mode(v1alpha1.Suspend))}, nil, never},
		"an invalid rule":             {[]*policy.Rule{fixture.Rule("jobs", invalid)}, nil, never},
		"a dry run":                   {[]*policy.Rule{fixture.Rule("jobs", fixture.Mode(v1alpha1.DryRun))}, nil, soon},
		"a dry run with an error":     {[]*policy.Rule{fixture.Rule("jobs", fixture.Mode(v1alpha1.DryRun))}, facts(policy.Facts{Selected: true, Err: errors.New("no such key")}), soon},
		"an invalid dry run":          {[]*policy.Rule{fixture.Rule("jobs", invalid, fixture.Mode(v1alpha1.DryRun))}, nil, soon},
		"its window is closed":        {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), open("0:30", time.Hour))}, longAgo, 30 * time.Minute},
		"its window is open":          {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), open("0:00", time.Hour))}, longAgo, soon},
		"in a freeze":                 {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), frozenFor(10*time.Minute))}, nil, 10 * time.Minute},
		"in a freeze, not eligible":   {[]*policy.Rule{fixture.Rule("jobs", fixture.TTL(0), frozenFor(10*time.Minute))}, facts(policy.Facts{Selected: true}), soon},
		"the window of a dry run":     {[]*policy.Rule{fixture.Rule("jobs", open("0:30", time.Hour), fixture.Mode(v1alpha1.DryRun))}, longAgo, soon},
		"a rule without permissions":  {[]*policy.Rule{fixture.Rule("jobs", func(r *policy.Rule) { r.Unpermitted = true })}, nil, never},
		"a rule of another namespace": {[]*policy.Rule{fixture.Rule("jobs", func(r *policy.Rule) { r.Namespace = "team-b" })}, facts(policy.Facts{Selected: true, Err: errors.New("no such key")}), soon},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(append(test.rules, fixture.Rule("pods", owners))...)
			if w.watches(fixture.Jobs) {
				options := []func(*draft){}
				if test.job != nil {
					options = append(options, test.job)
				}
				w.sourceOf(fixture.Jobs).list(row("job", time.Now(), options...))
			}
			w.sourceOf(fixture.Pods).list(row("pod", time.Now(), ownedBy("job")))
			bubble.Pass(3 * time.Hour)
			witnessed := []string{}
			for _, event := range w.happened() {
				if strings.Contains(event, "removed job") { // by one of the two rules
					witnessed = append(witnessed, strings.SplitN(event, " ", 2)[0])
				}
			}
			switch {
			case test.goes == never && len(witnessed) > 0, test.goes != never && len(witnessed) == 0:
				t.Errorf("happened: %v", w.happened())
			case test.goes != never && witnessed[0] != test.goes.String():
				t.Errorf("deleted after %s, want %s", witnessed[0], test.goes)
			}
			if n := len(w.resolvesTarget()); test.goes == never && n > 40 {
				t.Errorf("resolved a kept owner %d times", n)
			}
		})
	}
}

// TestOwnerGoesWhenTheRuleAllowsIt: the windows of the rule that finds the Pod due apply to its owner.
func TestOwnerGoesWhenTheRuleAllowsIt(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("pods", owners, open("0:30", time.Hour)), row("pod", w.began.Add(-48*time.Hour), ownedBy("job")))
		bubble.Pass(time.Hour)
		expect.Equal(t, "happened", "30m0s removed job", w.happened()[0])
	})
}

// TestOwnerThatWaitsIsADelay: the rules about its kind keep the owner for more than ten minutes.
func TestOwnerThatWaitsIsADelay(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		delays := func() (all []string) {
			for _, k := range w.Kinds() {
				for _, d := range k.Delays(w.clock.Now()) {
					all = append(all, fmt.Sprintf("%s of %s %s/%s: %s", d.Reason, d.Policy, d.Namespace, d.Name, d.Message))
				}
			}
			return all
		}
		w.use(fixture.Rule("jobs"), fixture.Rule("pods", owners))
		w.sourceOf(fixture.Jobs).list(row("job", time.Now()))
		w.sourceOf(fixture.Pods).list(row("pod", time.Now(), ownedBy("job")))
		due := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		bubble.Pass(11 * time.Minute)
		expect.Equal(t, "delays", []string{"OwnerWaits of pods team-a/pod: its owner Job/job is kept until " + due + " by rule jobs/jobs"}, delays())
		bubble.Pass(time.Hour)
		expect.Equal(t, "delays at the end", nil, delays())
		expect.Equal(t, "removed", []string{"job"}, w.removed()[:1])
	})
}

// watches reports whether a kind is watched.
func (w *harness) watches(kind schema.GroupVersionKind) bool {
	for _, state := range w.Kinds() {
		if state.Kind == kind {
			return true
		}
	}
	return false
}

// TestOwnerVerdictOfTheVersionThatWasRead: while rules about its kind are in force.
func TestOwnerVerdictOfTheVersionThatWasRead(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.resolveTarget = func(i policy.Intent) (policy.Target, *retention.Outcome) { return targetOf(i, "2"), nil }
		w.use(fixture.Rule("jobs", fixture.TTL(0), fixture.Mode(v1alpha1.Suspend)), fixture.Rule("pods", owners))
		notEligible := func(r *draft) { r.Facts = policy.Facts{Selected: true} }
		w.sourceOf(fixture.Pods).list(row("pod", time.Now(), ownedBy("job")))
		bubble.Pass(time.Second)
		if len(w.removed()) > 0 {
			t.Fatal("an owner was deleted before its kind was listed")
		}
		w.sourceOf(fixture.Jobs).list(row("job", time.Now(), notEligible))
		bubble.Pass(time.Minute)
		if len(w.removed()) > 0 {
			t.Fatal("an owner was deleted at a version that was not evaluated")
		}
		w.sourceOf(fixture.Jobs).apply(row("job", time.Now(), notEligible, version(2)))
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
	})
}

// TestPreflightMayKeepTheOwner: the rules about its kind are evaluated after preflight.
func TestPreflightMayKeepTheOwner(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.check = func(string) error {
			w.Use(snapshotOf(fixture.Rule("jobs", fixture.Mode(v1alpha1.Suspend)), fixture.Rule("pods", owners)))
			return nil
		}
		w.listedBy(fixture.Rule("pods", owners), row("pod", time.Now(), ownedBy("job")))
		bubble.Pass(time.Hour)
		if len(w.attempted()) > 0 || len(w.resolvesTarget()) == 0 {
			t.Errorf("attempted %v, resolved %v", w.attempted(), w.resolvesTarget())
		}
	})
}

func TestOwnerIsRetriedWithBackoff(t *testing.T) {
	refused := retention.Outcome{Result: retention.Refused, Err: errors.New("has not finished")}
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.resolveTarget = func(i policy.Intent) (policy.Target, *retention.Outcome) {
			if i.Owner.Name == "running" {
				return policy.Target{}, &refused
			}
			return targetOf(i, "1"), nil
		}
		w.listedBy(fixture.Rule("pods", owners), row("a", time.Now(), ownedBy("running")), row("b", time.Now(), ownedBy("done")))
		bubble.Pass(24 * time.Hour)
		if n := len(w.resolvesTarget()); n > 200 {
			t.Errorf("resolved %d times in a day", n)
		}
		expect.Equal(t, "another owner", []string{"done"}, w.removed())
		w.set(func() { w.resolveTarget = nil })
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"done", "running"}, w.removed())
	})
}

func TestOwnerIsNotReadWithoutPermission(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		missing := errors.New("missing permission")
		w.permitOwner = func(r *policy.Rule, owner *policy.Owner) error {
			if r.ID.Rule != "pods" || owner.String() != "Job/job" {
				t.Errorf("called with %s, %s", r.ID, owner)
			}
			return missing
		}
		w.listedBy(fixture.Rule("pods", owners), row("pod", time.Now(), ownedBy("job")))
		bubble.Pass(time.Hour)
		if len(w.resolvesTarget())+len(w.attempted()) > 0 {
			t.Errorf("resolved %v, attempted %v", w.resolvesTarget(), w.attempted())
		}
		w.set(func() { w.permitOwner = nil })
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
	})
}

// TestOwnerDeletionIsCountedOnce: one of many subjects with the same owner deletes the owner. The others find that it no longer
// exists.
func TestOwnerDeletionIsCountedOnce(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		gone := false
		w.outcome = func(policy.DeletePermit) retention.Outcome {
			w.mu.Lock()
			defer w.mu.Unlock()
			if gone {
				return retention.Outcome{Result: retention.Gone, Err: errors.New("not found")}
			}
			gone = true
			return retention.Outcome{Result: retention.Removed}
		}
		w.use(fixture.Rule("pods", owners))
		var pods []*draft
		for i := range 20 {
			pods = append(pods, row(fmt.Sprint("pod-", i), time.Now(), ownedBy("job")))
		}
		w.source(0).list(pods...)
		bubble.Pass(time.Second)
		if n := len(w.happened()); n != 2 || len(w.attempted()) != 20 {
			t.Errorf("happened: %v; attempted %v", w.happened(), w.attempted())
		}
	})
}

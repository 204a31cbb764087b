package explain

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestWhatWouldChangeItDoes: in random worlds each change on the page, and none of its parts, changes what becomes of the object; each
// obstacle on the page is part of such a change; and there is one wherever all that may change changes it.
func TestWhatWouldChangeItDoes(t *testing.T) {
	kept, changed := 0, 0
	for seed := range int64(4_000) {
		in := randomInput(rand.New(rand.NewSource(seed)))
		p := New(in)
		obstacles := in.obstacles(nil)
		w := worldOf(&in, obstacles)
		before := w.outcome()
		var parts []Block
		for _, c := range p.Changes {
			changed++
			if w.after(c.steps...).outcome() == before {
				t.Fatalf("seed %d: %q changes nothing", seed, c.What)
			}
			for i := range c.steps {
				if rest := slices.Delete(slices.Clone(c.steps), i, i+1); len(rest) > 0 && w.after(rest...).outcome() != before {
					t.Fatalf("seed %d: %q is more than it takes", seed, c.What)
				}
				parts = append(parts, c.steps[i].block)
			}
		}
		if len(p.Changes) > changesShown {
			t.Fatalf("seed %d: %d changes", seed, len(p.Changes))
		}
		for _, b := range p.Blocks {
			if !slices.Contains(parts, b) && len(p.Changes) < changesShown {
				t.Fatalf("seed %d: %q keeps it, and is part of no change", seed, b.Message)
			}
		}
		if before.action == policy.Keep {
			kept++
			steps := slices.Clone(obstacles)
			for i := range p.Rules {
				steps = append(steps, in.stepsOf(&p.Rules[i])...)
			}
			if w.after(steps...).outcome() != before && len(p.Changes) == 0 {
				t.Fatalf("seed %d: no change is told", seed)
			}
		}
	}
	if kept < 1_000 || changed < 2_000 {
		t.Errorf("only %d objects were kept, with %d changes in all", kept, changed)
	}
}

// randomInput is an object with a few rules about it, and what they say.
func randomInput(r *rand.Rand) Input {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	metadata := map[string]any{}
	in := Input{At: now, Subject: policy.Subject{Namespace: "shop", Name: "x", Created: now.Add(-10 * time.Hour)}}
	if r.Intn(4) == 0 {
		metadata["annotations"] = map[string]any{v1alpha1.HoldAnnotation: "true"}
		in.Subject.Flags |= policy.IsHeld
	}
	if r.Intn(6) == 0 {
		in.Namespace.Held = true
		in.Subject.Flags |= policy.IsHeld
	}
	if r.Intn(8) == 0 {
		in.Subject.Flags |= policy.IsUncounted
	}
	in.Object = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
	modes := []v1alpha1.Mode{v1alpha1.DryRun, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Suspended}
	policies := map[int]v1alpha1.Mode{}
	waits := r.Intn(4)
	for i := range r.Intn(5) {
		n := r.Intn(4)
		if policies[n] == "" {
			policies[n] = modes[r.Intn(len(modes))]
		}
		rule := &policy.Rule{
			ID: policy.RuleID{Policy: fmt.Sprint("p", n), Rule: fmt.Sprint("r", i)}, Mode: policies[n], TTL: time.Duration(r.Intn(20)) * time.Hour,
			Unapproved: n == waits && policies[n] == v1alpha1.Enforce, Suspended: r.Intn(10) == 0,
		}
		facts := policy.Facts{Selected: r.Intn(8) > 0, Eligible: r.Intn(5) > 0, Start: now.Add(-time.Duration(r.Intn(10)) * time.Hour)}
		switch r.Intn(10) {
		case 0:
			facts.Eligible, facts.Err = false, errors.New("no such key")
		case 1:
			rule.Problems = []policy.Problem{{Path: "spec"}}
		case 2:
			facts.Start = time.Time{}
		case 3:
			facts.Marked, facts.Estimated, facts.Start = true, true, now
		}
		ruling := policy.Ruling{Rule: rule, Facts: facts, Known: true}
		ruling.Standing.Newest = r.Intn(8) == 0
		in.Rulings = append(in.Rulings, ruling)
	}
	in.Verdict, _ = policy.Decide(in.Subject, in.Rulings, now)
	return in
}

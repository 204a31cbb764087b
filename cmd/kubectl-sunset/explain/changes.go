package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Change is something that would change the verdict.
type Change struct {
	What string
	At   time.Time // when it happens by itself; zero when it may never
}

func changesOf(p *Page) []Change {
	if p.Verdict.Reason == policy.Terminating {
		return nil // it goes whatever anybody does
	}
	if slices.ContainsFunc(p.Blocks, Block.isBuiltIn) {
		return nil // it stays whatever the rules say, at any time
	}
	var changes []Change
	for _, b := range p.Blocks {
		if b.Remedy != "" {
			changes = append(changes, Change{What: b.Remedy})
		}
	}
	for _, r := range p.Rules {
		changes = append(changes, r.changes()...)
	}
	if p.Verdict.Action != policy.Keep && p.Object.Kind != v1alpha1.ImageKind.Kind {
		changes = append(changes, Change{What: "annotation " + v1alpha1.HoldAnnotation + `: "true" on the object would keep it`})
	}
	return changes
}

// changes are what would change what the rule says.
func (r *Rule) changes() []Change {
	changes := r.ownChanges()
	if t := r.Trial; t != nil && t.Says.Action != policy.Keep {
		what := "set mode: Enforce in RetentionPolicy " + strings.Join(t.From, " and ") + ": " + r.ID.String() + " finds it due"
		changes = append(changes, Change{what, t.Says.Due})
	}
	return changes
}

func (r *Rule) ownChanges() []Change {
	id := r.ID.String()
	switch r.Says.Reason {
	case policy.Waiting:
		return []Change{{id + " finds it due", r.Says.Due}}
	case policy.EvaluationFailed:
		return []Change{{What: id + " can be evaluated: correct it, or what it reads of the object"}}
	case policy.ReferencesUnknown:
		return []Change{{What: "what refers to it becomes known to " + id}}
	case policy.RuleInvalid:
		return []Change{{What: id + " is corrected: kubectl sunset validate says what is wrong"}}
	case policy.NotEligible:
		return []Change{{What: "eligible of " + id + " gives true" + r.nowFalse()}}
	case policy.NoStartTime:
		return []Change{{What: "startTime of " + id + " gives a time"}}
	case policy.Unpullable:
		return []Change{{What: "images.allowUnpullable of " + id + " lets go what no registry may have"}}
	case policy.KeptRecreated:
		return []Change{{What: "stop the controller that re-creates it, then delete the object by hand; or change " + id + ", and Sunset tries again"}}
	case policy.NoOwner:
		return []Change{{What: "a controller among the object's ownerReferences, which " + id + " would let go"}}
	case policy.NeverDue:
		return []Change{{What: "ttlExpression of " + id + " gives a time to live"}}
	case policy.KeptNewest:
		return []Change{{What: r.Rank.newer() + " of its group, eligible by " + id}}
	case policy.WithinCapacity:
		if r.full != "" {
			return []Change{{What: r.full}}
		}
		return []Change{{What: "more eligible objects than the capacity of " + id}}
	}
	return nil
}

// nowFalse names the conditions that are false now.
func (r *Rule) nowFalse() string {
	var parts []string
	for _, e := range r.Expressions {
		for _, part := range e.Parts {
			if e.Field == "eligible" && part.Depth == 0 && part.Value == "false" {
				parts = append(parts, part.Text)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; now false: " + strings.Join(parts, ", ")
}

// newer is how many newer objects it takes to push one out.
func (r *Rank) newer() string {
	if r == nil || r.Keep-r.Place < 0 {
		return "newer objects"
	}
	if n := r.Keep - r.Place + 1; n > 1 {
		return fmt.Sprintf("%d newer objects", n)
	}
	return "1 newer object"
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Block is something that keeps an object, or delays its deletion, although a rule may find it due.
type Block struct {
	Reason  policy.Reason `json:"reason"` // or Finalizers, which delay the deletion after the DELETE request
	Message string        `json:"message"`
	Remedy  string        `json:"remedy,omitempty"` // what would end the block; empty if the block should not be removed
}

// Finalizers is the Reason of a Block by finalizers of the object.
const Finalizers policy.Reason = "Finalizers"

// isFinal reports whether no change has an effect on the object: it is being deleted, or something needs it.
func (b Block) isFinal() bool {
	return b.Reason == policy.Terminating || b.Reason == policy.Held && b.Remedy == ""
}

// blocks returns what keeps the object, each with the effect of its removal.
func (in *Input) blocks(owner *Owner) []step {
	steps := in.held()
	for _, r := range in.Evaluations {
		for _, b := range in.permissionBlocks(r.Rule) { // it also blocks rules that do not select the object
			granted := ofPolicy(r.Rule.ID.Policy, b, func(r *policy.Rule) { r.Unpermitted = false })
			granted.from = func(w *whatIf) { w.change(r.Rule.ID, func(r *policy.Evaluation) { r.Rule.Unpermitted = true }) }
			steps = append(steps, granted)
		}
		if r.Known && r.Facts.Selected {
			steps = append(steps, in.blocksOf(r)...)
			for _, b := range in.ledgerBlocks(r.Rule) {
				steps = append(steps, byAuthor([]step{outside(b)})...)
			}
			for _, b := range in.archiveBlocks(r.Rule) {
				steps = append(steps, outside(b))
			}
			for _, b := range in.snapshotBlocks(r.Rule) {
				steps = append(steps, outside(b))
			}
			for _, b := range in.recreatedBlocks(r.Rule) {
				steps = append(steps, outside(b))
			}
		}
	}
	for _, b := range owner.block() {
		steps = append(steps, outside(b))
	}
	return unique(steps)
}

// outside is an obstacle outside of the rules' evaluations.
func outside(b Block) step {
	return step{what: b.Remedy, block: b, from: func(w *whatIf) { w.outside[b] = true }, do: func(w *whatIf) { delete(w.outside, b) }}
}

// flag is an obstacle in the state of the object.
func flag(b Block, flag policy.Flags) step {
	return step{what: b.Remedy, block: b, do: func(w *whatIf) { w.subject.Flags &^= flag }}
}

// held returns obstacles that are independent of the rules.
func (in *Input) held() []step {
	annotations, _ := preview.MetadataOf(in.Object)["annotations"].(map[string]any)
	var steps []step
	if in.Subject.Flags.Has(policy.IsTerminating) {
		steps = append(steps, step{block: terminating(finalizersOf(in.Object))})
	}
	if value, ok := annotations[v1alpha1.HoldAnnotation]; ok && v1alpha1.IsHold(value) {
		steps = append(steps, hold("the object"))
	}
	if in.Namespace.Held {
		steps = append(steps, hold("namespace "+in.Subject.Namespace))
	}
	if why := engine.BuiltInHold(in.Object); why != "" {
		steps = append(steps, step{block: Block{policy.Held, why, ""}})
	}
	if in.Subject.Flags.Has(policy.IsUncounted) {
		steps = append(steps, flag(Block{policy.Uncounted, "its Job has not counted the Pod yet", "its Job counts the Pod"}, policy.IsUncounted))
	}
	if in.Subject.Flags.Has(policy.IsPinned) {
		steps = append(steps, flag(Block{policy.Pinned, "the container runtime pins the image", "the container runtime no longer pins the image"}, policy.IsPinned))
	}
	if in.Subject.Flags.Has(policy.IsInUse) {
		steps = append(steps, flag(Block{policy.InUse, in.use(), "no container and no Pod uses the image"}, policy.IsInUse))
	}
	return steps
}

// finalizers returns a block for finalizers that delay the deletion after the DELETE request.
func (in *Input) finalizers() []Block {
	names := finalizersOf(in.Object)
	if len(names) == 0 || in.Subject.Flags.Has(policy.IsTerminating) {
		return nil
	}
	return []Block{{Finalizers, "after the DELETE request it stays until these finalizers are removed: " + strings.Join(names, ", "), ""}}
}

// use says what uses the image.
func (in *Input) use() string {
	if in.UsedBy == "" {
		return "a container or a Pod uses the image"
	}
	return "in use by " + in.UsedBy
}

func terminating(finalizers []string) Block {
	b := Block{Reason: policy.Terminating, Message: "it is being deleted"}
	if len(finalizers) > 0 {
		b.Message += "; it stays until these finalizers are removed: " + strings.Join(finalizers, ", ")
	}
	return b
}

func hold(where string) step {
	annotation := "annotation " + v1alpha1.HoldAnnotation
	b := Block{policy.Held, annotation + " on " + where, "remove " + annotation + " from " + where}
	return step{what: b.Remedy, block: b, from: func(w *whatIf) { w.holds[where] = true }, do: func(w *whatIf) { delete(w.holds, where) }}
}

// blocksOf returns what keeps the object although one rule finds it due.
func (in *Input) blocksOf(r policy.Evaluation) []step {
	id := r.Rule.ID
	var steps []step
	enforce := func(reason policy.Reason, what, remedy string) {
		steps = append(steps, ofPolicy(id.Policy, Block{reason, "policy " + id.Policy + " is " + what, remedy}, enforced))
	}
	status, mode := in.Status[id.Policy], "set mode: Enforce in policy "+id.Policy
	for _, o := range r.Rule.Overrides {
		if r.Rule.Suspended && r.Rule.SuspendedBy(o) {
			steps = append(steps, suspension(o))
		}
	}
	if reason := in.Subject.Flags.Manager(); reason != "" && !r.Rule.AllowManaged {
		steps = append(steps, ofRule(id, Block{reason, engine.Manager(in.Object), "set delete.allowManaged: true in rule " + id.String()},
			func(r *policy.Rule) { r.AllowManaged = true }))
	}
	switch isDryRun := r.Rule.Mode == v1alpha1.DryRun || r.Rule.Mode == ""; {
	case isDryRun && status.NotEnforcing() == string(v1alpha1.DryRun):
		enforce(policy.IsDryRun, "a dry run, because the controller runs with --dry-run", "remove --dry-run from the flags of the controller")
	case isDryRun:
		enforce(policy.IsDryRun, "a dry run", mode)
	case r.Rule.Mode != v1alpha1.Enforce && status.NotEnforcing() == string(policy.Terminating):
		enforce(policy.IsSuspended, "being deleted", "create policy "+id.Policy+" again when it no longer exists")
	case r.Rule.Mode != v1alpha1.Enforce:
		enforce(policy.IsSuspended, "suspended", mode)
	case r.Rule.Unapproved:
		steps = append(steps, ofPolicy(id.Policy, Block{policy.IsUnapproved, "policy " + id.Policy + " waits for approval" + in.change(id.Policy), approval(r.Rule)},
			func(r *policy.Rule) { r.Unapproved = false }))
	case r.Facts.Estimated:
		b := Block{policy.Unmarked, "the object is not marked eligible for " + id.String() + " yet", "Sunset marks it eligible for " + id.String()}
		steps = append(steps, step{what: b.Remedy, block: b, do: func(w *whatIf) { w.change(id, w.mark) }})
	}
	return steps
}

// suspension is an obstacle by an override. Its removal ends the suspension of all rules that the override changes.
func suspension(o *policy.Override) step {
	b := Block{policy.IsSuspended, override(o) + " sets suspend: true", "remove suspend: true from " + override(o)}
	if o.Invalid {
		b.Message, b.Remedy = override(o)+" is invalid, so objects are kept", "fix "+override(o)+" (run: kubectl sunset validate)"
	}
	return step{what: b.Remedy, author: true, guess: o.Invalid, block: b, do: func(w *whatIf) {
		for _, r := range w.evaluations {
			w.change(r.Rule.ID, func(r *policy.Evaluation) {
				r.Rule.Overrides = slices.Clone(r.Rule.Overrides)
				for i, other := range r.Rule.Overrides {
					if override(other) == override(o) {
						without := *other
						without.Suspend, without.Invalid = false, false
						r.Rule.Overrides[i] = &without
					}
				}
				r.Rule.Suspended = r.Rule.Suspended && slices.ContainsFunc(r.Rule.Overrides, r.Rule.SuspendedBy)
			})
		}
	}}
}

func enforced(r *policy.Rule) { r.Mode = v1alpha1.Enforce }

// change returns how many objects the change that waits for approval would delete, if the policy's status has it.
func (in *Input) change(name string) string {
	pending := in.Status[name].PendingApproval
	if pending == nil {
		return ""
	}
	return fmt.Sprintf(": %s would be deleted now, and at most %d within 7 days", Share(pending.Due.Now, pending.Matched), pending.Due.Week)
}

// Share says how many of some objects are meant.
func Share(some, all int64) string {
	if all == 1 {
		return fmt.Sprintf("%d of 1 object", some)
	}
	return fmt.Sprintf("%d of %d objects", some, all)
}

func approval(r *policy.Rule) string {
	command := "kubectl sunset approve " + strings.TrimPrefix(r.ID.Policy, r.Namespace+"/")
	if r.Namespace != "" {
		command += " -n " + r.Namespace
	}
	return command
}

// unique removes steps with the same block. Rules of one policy have the same blocks.
func unique(steps []step) []step {
	said := map[Block]bool{}
	return slices.DeleteFunc(steps, func(s step) bool {
		before := said[s.block]
		said[s.block] = true
		return before
	})
}

// finalizersOf returns nil if not all finalizers are strings.
func finalizersOf(object map[string]any) []string {
	names, _, _ := unstructured.NestedStringSlice(object, "metadata", "finalizers")
	return names
}

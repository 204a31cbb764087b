package explain

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Block is something that keeps an object, or keeps it longer, though a rule may find it due.
type Block struct {
	Reason  policy.Reason // or Finalizers, which keep no DELETE from being sent
	Message string
	Remedy  string // what would end it; empty where nobody should
}

// Finalizers is the Reason of a Block by those on the object.
const Finalizers policy.Reason = "Finalizers"

// isBuiltIn reports whether something needs the object: a hold that nobody has written, and nobody should end.
func (b Block) isBuiltIn() bool { return b.Reason == policy.Held && b.Remedy == "" }

func blocksOf(in Input) []Block {
	blocks := in.held()
	for _, r := range in.Rulings {
		if r.Known && r.Facts.Selected {
			blocks = append(blocks, in.blockOf(r)...)
			blocks = append(blocks, in.forbidden(r.Rule)...)
			blocks = append(blocks, in.counting(r.Rule)...)
			blocks = append(blocks, in.recreated(r.Rule)...)
		}
	}
	return unique(blocks)
}

// held is what keeps the object whatever the rules say.
func (in *Input) held() []Block {
	meta, _ := in.Object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	finalizers := textsOf(meta["finalizers"])
	isTerminating := in.Subject.Flags.Has(policy.IsTerminating)
	var blocks []Block
	if isTerminating {
		blocks = append(blocks, terminating(finalizers))
	}
	if value, ok := annotations[v1alpha1.HoldAnnotation]; ok && v1alpha1.IsHold(value) {
		blocks = append(blocks, hold("the object"))
	}
	if in.Namespace.Held {
		blocks = append(blocks, hold("namespace "+in.Subject.Namespace))
	}
	if why := engine.BuiltInHold(in.Object); why != "" {
		blocks = append(blocks, Block{policy.Held, why, ""})
	}
	if in.Subject.Flags.Has(policy.IsUncounted) {
		blocks = append(blocks, Block{policy.Uncounted, "its Job has not counted the Pod yet", ""})
	}
	if in.Subject.Flags.Has(policy.IsPinned) {
		blocks = append(blocks, Block{policy.Pinned, "the container runtime must have the image", ""})
	}
	if in.Subject.Flags.Has(policy.IsInUse) {
		blocks = append(blocks, Block{policy.InUse, in.use(), ""})
	}
	if len(finalizers) > 0 && !isTerminating {
		blocks = append(blocks, Block{Finalizers, "once deleted it stays until these are removed: " + strings.Join(finalizers, ", "), ""})
	}
	return blocks
}

// use is what uses the image.
func (in *Input) use() string {
	if in.UsedBy == "" {
		return "a container or a Pod uses the image"
	}
	return "in use by " + in.UsedBy
}

func terminating(finalizers []string) Block {
	b := Block{Reason: policy.Terminating, Message: "somebody deleted it already"}
	if len(finalizers) > 0 {
		b.Message += "; it stays until these are removed: " + strings.Join(finalizers, ", ")
	}
	return b
}

func hold(where string) Block {
	annotation := "annotation " + v1alpha1.HoldAnnotation
	return Block{policy.Held, annotation + " on " + where, "remove " + annotation + " from " + where}
}

// blockOf is what keeps the word of one rule from being carried out.
func (in *Input) blockOf(r policy.Ruling) []Block {
	id := r.Rule.ID
	said := says(in.Subject, r, in.At)
	switch {
	case said.Reason == policy.IsSuspended && r.Rule.Suspended:
		return []Block{{policy.IsSuspended, "an override suspends " + id.String(), "end suspend in the RetentionPolicy"}}
	case said.Reason == policy.IsSuspended:
		return []Block{{policy.IsSuspended, "policy " + id.Policy + " is suspended", "set mode: Enforce in policy " + id.Policy}}
	case said.Reason != "" && said.Reason == in.Subject.Flags.Manager():
		return []Block{{said.Reason, engine.Manager(in.Object), "set delete.allowManaged: true in rule " + id.String()}}
	case said.Action == policy.Keep:
		return nil
	case in.Verdict.Action != policy.Keep && (r.Rule.Mode == v1alpha1.DryRun || r.Rule.Mode == ""):
		return nil // it goes without that rule
	case r.Rule.Mode == v1alpha1.DryRun || r.Rule.Mode == "":
		return []Block{{policy.IsDryRun, "policy " + id.Policy + " is a dry run", "set mode: Enforce in policy " + id.Policy}}
	case r.Rule.Unapproved:
		return []Block{{policy.IsUnapproved, "policy " + id.Policy + " waits for approval" + in.backlog(id.Policy), approval(r.Rule)}}
	case r.Facts.Estimated:
		return []Block{{policy.Unmarked, "the object is not marked eligible for " + id.String() + " yet", ""}}
	}
	return nil
}

// backlog is how much waits for approval, where the policy's status says so.
func (in *Input) backlog(name string) string {
	pending := in.Status[name].PendingApproval
	if pending == nil {
		return ""
	}
	return fmt.Sprintf(": %d of %d objects would be deleted now, and at worst %d within 7 days", pending.Due, pending.Selected, pending.Week)
}

func approval(r *policy.Rule) string {
	command := "kubectl sunset approve " + strings.TrimPrefix(r.ID.Policy, r.Namespace+"/")
	if r.Namespace != "" {
		command += " -n " + r.Namespace
	}
	return command
}

// unique leaves out what was said before: rules of one policy say the same.
func unique(blocks []Block) []Block {
	var kept []Block
	said := map[Block]bool{}
	for _, b := range blocks {
		if !said[b] {
			kept = append(kept, b)
		}
		said[b] = true
	}
	return kept
}

func textsOf(list any) []string {
	elements, _ := list.([]any)
	var texts []string
	for _, element := range elements {
		if text, ok := element.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

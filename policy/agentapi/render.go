// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// MaxBytes is the maximum size of the rules for agents as JSON: etcd accepts at most 1.5 MB for the whole object.
const MaxBytes = 1 << 20

// MaxFreezes is the maximum number of freezes in a spec.
const MaxFreezes = 32

// LeftOut is the hash of a policy that does not fit. No version of a policy has it.
const LeftOut = "left-out"

// notCEL is the expression of a rule that is invalid or left out. It does not compile on the agents either, so they keep all
// images that the rule may select.
const notCEL = "this rule is invalid: see the status of its policy"

// Rendered is the data for the agents.
type Rendered struct {
	Policies []v1alpha1.NodeImagePolicy      // with rules about images, by name
	Known    []v1alpha1.NodeImageKnownPolicy // all ClusterRetentionPolicies, by name; empty if no policy has rules about images
	// Missing are the Policies whose rules do not fit. They delete nothing, and keep every image unless they are a dry run.
	Missing sets.Set[types.UID]
}

// Render makes the data for the agents from a snapshot, in at most this many bytes. If that is too little, policies in force come
// first, then dry runs; in both groups by name.
func Render(b *policy.Snapshot, most int) Rendered {
	r := Rendered{Missing: sets.New[types.UID]()}
	var about []*policy.Policy
	for _, p := range b.Policies() {
		if p.Namespace != "" {
			continue
		}
		r.Known = append(r.Known, v1alpha1.NodeImageKnownPolicy{Name: p.Name, UID: p.UID, Generation: p.Generation})
		if OnNodes(p) {
			about = append(about, p)
		}
	}
	if len(about) == 0 {
		return Rendered{Missing: r.Missing}
	}
	r.Policies = fit(b, about, most-sizeOf(r.Known), r.Missing)
	return r
}

// OnNodes reports whether a policy has rules about images.
func OnNodes(p *policy.Policy) bool { return slices.ContainsFunc(p.Rules, (*policy.Rule).OnNodes) }

// fit renders all policies, as many as possible with their rules.
func fit(b *policy.Snapshot, about []*policy.Policy, most int, missing sets.Set[types.UID]) []v1alpha1.NodeImagePolicy {
	all := make([]v1alpha1.NodeImagePolicy, len(about))
	for i, p := range about {
		all[i] = stub(p)
		most -= sizeOf(all[i])
		missing.Insert(p.UID)
	}
	for _, i := range byPrecedence(about) {
		whole := whole(b, about[i])
		if more := sizeOf(whole) - sizeOf(all[i]); more <= most && len(whole.Spec.Freezes) <= MaxFreezes {
			most -= more
			all[i] = whole
			missing.Delete(about[i].UID)
		}
	}
	return all
}

// byPrecedence are the indexes of policies, policies in force first.
func byPrecedence(all []*policy.Policy) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rank(all[i]), rank(all[j])) })
	return order
}

func rank(p *policy.Policy) int {
	if p.Mode == v1alpha1.DryRun {
		return 1
	}
	return 0
}

// whole is a policy with all its rules about images, and with the freezes of other policies that apply to them.
func whole(b *policy.Snapshot, p *policy.Policy) v1alpha1.NodeImagePolicy {
	n := named(p, p.Hash)
	n.Approvals, n.Spec.Variables = p.Approvals, p.Variables
	n.Spec.Windows, n.Spec.Freezes = b.Times(p)
	for _, r := range p.Rules {
		if !r.OnNodes() {
			continue
		}
		n.Spec.Rules = append(n.Spec.Rules, asSent(r))
		if p.Gate.Covers("", r.ID.Rule) {
			n.Unapproved = append(n.Unapproved, r.ID.Rule)
		}
	}
	return n
}

// stub is a policy that keeps every image, unless it is a dry run.
func stub(p *policy.Policy) v1alpha1.NodeImagePolicy {
	n := named(p, LeftOut)
	i := slices.IndexFunc(p.Rules, (*policy.Rule).OnNodes)
	n.Spec.Rules = []v1alpha1.Rule{notUnderstood(p.Rules[i].ID.Rule)}
	return n
}

func named(p *policy.Policy, hash string) v1alpha1.NodeImagePolicy {
	return v1alpha1.NodeImagePolicy{
		Name: p.Name, UID: p.UID, CreationTimestamp: metav1.Time{Time: p.Created}, Generation: p.Generation, Hash: hash,
		Spec: v1alpha1.ClusterRetentionPolicySpec{Mode: p.Mode},
	}
}

// asSent is a rule in the form for agents. An invalid rule is replaced, because the cause of the problem may not be in the data
// for agents.
func asSent(r *policy.Rule) v1alpha1.Rule {
	if !r.Invalid() {
		return r.Spec
	}
	told := notUnderstood(r.ID.Rule)
	if selectorIsRead(r) {
		told.NodeSelector = r.Spec.NodeSelector
	}
	return told
}

// selectorIsRead reports whether the problems of a rule are in other fields than its nodeSelector. A problem of the whole rule,
// or of its policy, may concern any field.
func selectorIsRead(r *policy.Rule) bool {
	own := fmt.Sprintf("spec.rules[%d].", r.Index)
	return !slices.ContainsFunc(r.Problems, func(p policy.Problem) bool {
		field, found := strings.CutPrefix(p.Path, own)
		return !found || strings.HasPrefix(field, "nodeSelector")
	})
}

// notUnderstood is a rule of that name that keeps every image of every node.
func notUnderstood(name string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: name, Target: v1alpha1.Target{APIVersion: v1alpha1.ImageKind.GroupVersion().String(), Kind: v1alpha1.ImageKind.Kind},
		Eligible: notCEL, TTL: "0s", Events: v1alpha1.EventsAggregate,
	}
}

// sizeOf is the length of a value as JSON.
func sizeOf(v any) int {
	text, _ := json.Marshal(v) // no error: v was read from JSON
	return len(text)
}

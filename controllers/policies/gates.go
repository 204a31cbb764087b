package policies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// previews is what of a policy has been counted, and where it applies anew since.
type previews struct {
	byHash   map[string]v1alpha1.Preview
	rescoped sets.Set[string] // namespaces; nil for none
}

// previewsOf reads what the status of a policy says. What was known before of the same policy stays.
func previewsOf(object *unstructured.Unstructured, before *entry) previews {
	var status v1alpha1.RetentionPolicyStatus
	if written, ok, _ := unstructured.NestedMap(object.Object, "status"); ok {
		// A status that cannot be read has shown nothing.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(written, &status)
	}
	p := previews{byHash: map[string]v1alpha1.Preview{}}
	for _, known := range status.Previews {
		p.byHash[known.Hash] = known
	}
	if before != nil {
		for hash, known := range before.previews.byHash {
			p.byHash[hash] = known
		}
		p.rescoped = before.previews.rescoped
	} else if pending := status.PendingApproval; pending != nil && len(pending.Namespaces) > 0 {
		p.rescoped = sets.New(pending.Namespaces...)
	}
	return p
}

// gate is where a policy waits for approval; nil for nowhere. Namespaces that are approved do not wait again.
func (e *entry) gate() *policy.Gate {
	p := e.policy
	if p.Mode != v1alpha1.Enforce {
		return nil
	}
	known, counted := e.previews.byHash[p.Hash]
	switch approved := p.Approved == p.Hash; {
	case approved:
	case !counted:
		return &policy.Gate{Hash: p.Hash}
	case len(known.Uncounted) > 0:
		return &policy.Gate{Hash: p.Hash, Rules: sets.New(known.Uncounted...)}
	}
	if len(e.previews.rescoped) == 0 {
		return nil
	}
	gate := policy.NewScopeGate(p.Hash, e.previews.rescoped)
	if gate.Hash == p.Approved {
		e.previews.rescoped = nil
		return nil
	}
	return gate
}

// gated is the policy with its gate. The policy itself is not changed.
func (e *entry) gated() *policy.Policy {
	gate := e.gate()
	if gate == nil {
		return e.policy
	}
	waiting := *e.policy
	waiting.Gate = gate
	return &waiting
}

// rescope notes where policies in force apply that did not apply there in the last book.
func (l *Loop) rescope(book *policy.Book) (found bool) {
	for _, e := range l.entries() {
		known := l.scoped[e.policy.UID]
		if e.policy.Mode != v1alpha1.Enforce || known == nil || known.Hash != e.policy.Hash || known.Mode != v1alpha1.Enforce {
			continue
		}
		if namespaces := book.Rescoped(l.book, e.policy); len(namespaces) > 0 {
			e.previews.rescoped = namespaces.Union(e.previews.rescoped)
			found = true
		}
	}
	return found
}

// Previewed is told, after its status says so, that a policy was counted completely and may act: all of it, or what
// waited behind the gate.
func (l *Loop) Previewed(uid types.UID, preview v1alpha1.Preview, gate *policy.Gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries() {
		if e.policy.UID != uid {
			continue
		}
		e.previews.byHash[preview.Hash] = preview
		if gate != nil && gate.Namespaces != nil && gate.Namespaces.Equal(e.previews.rescoped) {
			e.previews.rescoped = nil
		}
		if gate != nil {
			l.publish()
		}
	}
}

// OwnRules are the rules of RetentionPolicies.
func (l *Loop) OwnRules() []*policy.Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rules []*policy.Rule
	for _, s := range l.namespaced.all {
		rules = append(rules, s.value.policy.Rules...)
	}
	return rules
}

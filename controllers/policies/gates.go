package policies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// previews is what of a policy has been counted, and where it applies anew since.
type previews struct {
	byHash map[string]v1alpha1.Preview
	scope  policy.Scope
}

// previewsOf reads what the status of a policy says. What was known before of the same policy stays, but for forms that
// the status has forgotten.
func previewsOf(object *unstructured.Unstructured, p *policy.Policy, before *entry) previews {
	status := statusOf(object)
	all := previews{byHash: map[string]v1alpha1.Preview{}}
	for _, known := range status.Previews {
		all.byHash[known.Hash] = known
	}
	switch {
	case before != nil:
		all.scope = before.previews.scope
		for _, hash := range []string{before.policy.Hash, p.Hash} {
			if known, ok := before.previews.byHash[hash]; ok {
				all.byHash[hash] = known
			}
		}
	case status.PendingApproval != nil && status.PendingApproval.Since != nil:
		all.scope = policy.Scope{Namespaces: sets.New(status.PendingApproval.Namespaces...), Since: status.PendingApproval.Since.Time}
	}
	if all.scope.Gate(p.ApprovalHash()).Hash == p.Approved {
		all.scope = policy.Scope{} // and does not wait again
	}
	return all
}

// statusOf is the status of a policy as it is written. One that cannot be read has shown nothing.
func statusOf(object *unstructured.Unstructured) (status v1alpha1.RetentionPolicyStatus) {
	if written, ok, _ := unstructured.NestedMap(object.Object, "status"); ok {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(written, &status)
	}
	return status
}

// gate is where a policy waits for approval; nil for nowhere.
func (e *entry) gate() *policy.Gate {
	p := e.policy
	if p.Mode != v1alpha1.Enforce {
		return nil
	}
	known, counted := e.previews.byHash[p.Hash]
	var uncounted sets.Set[string]
	switch approved := p.Approved == p.ApprovalHash(); {
	case approved:
	case !counted:
		return &policy.Gate{Hash: p.ApprovalHash()}
	case len(known.Uncounted) > 0:
		uncounted = sets.New(known.Uncounted...)
	}
	switch {
	case len(e.previews.scope.Namespaces) > 0:
		gate := e.previews.scope.Gate(p.ApprovalHash())
		gate.Uncounted = uncounted
		return gate
	case uncounted != nil:
		return &policy.Gate{Hash: p.ApprovalHash(), Rules: uncounted}
	}
	return nil
}

// gated is the policy with its gate, and without the rules that lack rights. The policy itself is not changed.
func (l *Loop) gated(e *entry) *policy.Policy {
	p, gate := e.policy, e.gate()
	if gate == nil && p.Namespace == "" {
		return p
	}
	waiting := *p
	waiting.Gate = gate
	if p.Namespace != "" {
		waiting.Rules = make([]*policy.Rule, len(p.Rules))
		for i, r := range p.Rules {
			own := *r
			err, known := l.Rights.Known(r)
			own.Unpermitted = err != nil || !known
			waiting.Rules[i] = &own
		}
	}
	return &waiting
}

// rescope notes where policies in force or suspended apply that did not apply there in the last book. Where fewer kinds
// of objects refer to others, those apply anew everywhere that ask about references: what was used by them is not any more.
func (l *Loop) rescope(book *policy.Book, fewer sets.Set[references.Kind]) (found bool) {
	changed := book.Changed(l.book)
	if len(changed)+len(fewer) == 0 {
		return false
	}
	for _, e := range l.entries() {
		known := l.scoped[e.policy.UID]
		if e.policy.Mode == v1alpha1.DryRun || known == nil || known.Hash != e.policy.Hash || known.Mode == v1alpha1.DryRun {
			continue
		}
		namespaces := book.Rescoped(l.book, e.policy, changed)
		if readsReferences(e.policy, fewer) {
			namespaces = book.Reach(e.policy)
		}
		if len(namespaces) > 0 {
			e.previews.scope = e.previews.scope.Wider(namespaces, l.Clock.Now())
			found = true
		}
	}
	return found
}

// Count is a form of a policy that was counted completely and may act: all of it, or what waited behind the gate. What has
// come behind it since was not counted.
type Count struct {
	Policy  types.UID
	Preview v1alpha1.Preview
	Gate    *policy.Gate // nil for nothing that waited
}

// Previewed is told of counts after the statuses of their policies say so.
func (l *Loop) Previewed(counts ...Count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := map[types.UID]*entry{}
	for _, e := range l.entries() {
		entries[e.policy.UID] = e
	}
	opened := false
	for _, c := range counts {
		if e := entries[c.Policy]; e != nil {
			e.previewed(c)
			opened = opened || c.Gate != nil
		}
	}
	if opened {
		l.publish()
	}
}

func (e *entry) previewed(c Count) {
	e.previews.byHash[c.Preview.Hash] = c.Preview
	if c.Gate != nil && c.Gate.Namespaces != nil && c.Gate.Hash == e.previews.scope.Gate(e.policy.ApprovalHash()).Hash {
		e.previews.scope = policy.Scope{}
	}
}

// Republish is called when the answer about the rights of a rule has changed.
func (l *Loop) Republish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.complete {
		l.publish()
	}
}

// OwnRules are the rules of RetentionPolicies.
func (l *Loop) OwnRules() []*policy.Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rules []*policy.Rule
	for _, e := range l.entries() {
		if e.policy.Namespace != "" {
			rules = append(rules, e.policy.Rules...)
		}
	}
	return rules
}

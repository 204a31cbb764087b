package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Policy is a policy as it applies: checked, with its defaults. It is not changed once it is in a Book.
type Policy struct {
	Name       string
	UID        types.UID
	Generation int64
	Mode       v1alpha1.Mode

	Namespaces labels.Selector  // which namespaces, by label
	Excluded   sets.Set[string] // which not, by name
	Variables  []v1alpha1.Variable
	Rules      []*Rule
	Problems   []Problem // of the policy and all its rules
}

// Rule is one rule with its settings. What its expressions say is in Facts, under Key.
type Rule struct {
	ID          RuleID
	PolicyUID   types.UID
	Index       int // in spec.rules
	Kind        schema.GroupVersionKind
	Mode        v1alpha1.Mode
	TTL         time.Duration // unused when HasTTLExpression
	Propagation metav1.DeletionPropagation
	Events      v1alpha1.EventMode
	Spec        v1alpha1.Rule // as written
	Problems    []Problem     // why the rule is invalid

	HasTTLExpression bool

	// Key names the facts the rule needs: two rules with the same Key ask the same questions. Set when the rule's
	// expressions are compiled.
	Key string
}

// Invalid reports whether the rule cannot be understood. It then deletes nothing, and keeps what it may be about.
func (r *Rule) Invalid() bool { return len(r.Problems) > 0 }

// dryRun reports whether the rule has no say. The zero value of a mode is DryRun; a mode nobody knows is none.
func (r *Rule) dryRun() bool { return r.Mode == v1alpha1.DryRun || r.Mode == "" }

// suspended reports whether the rule keeps what it finds eligible. A mode nobody knows does.
func (r *Rule) suspended() bool { return !r.dryRun() && r.Mode != v1alpha1.Enforce }

// ttl is the time to live of a subject with these facts; negative when it never ends.
func (r *Rule) ttl(f *Facts) time.Duration {
	if r.HasTTLExpression {
		return f.TTL
	}
	return r.TTL
}

// sameSettings reports whether both rules give the same verdict on the same facts, and delete the same way.
func (r *Rule) sameSettings(o *Rule) bool {
	return r == o || r.ID == o.ID && r.Key == o.Key && r.Mode == o.Mode && r.TTL == o.TTL &&
		r.HasTTLExpression == o.HasTTLExpression && r.Invalid() == o.Invalid() &&
		r.Propagation == o.Propagation && r.Events == o.Events && r.Kind == o.Kind
}

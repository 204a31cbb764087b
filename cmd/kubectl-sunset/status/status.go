// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// List is the result of status in JSON and YAML, of kind PolicyStatusList. The format is stable.
type List struct {
	metav1.TypeMeta `json:",inline"`
	Items           []Policy `json:"items"`
}

// NewList returns the statuses of policies.
func NewList(objects []map[string]any) (*List, error) {
	l := &List{TypeMeta: preview.TypeMeta("PolicyStatusList"), Items: make([]Policy, len(objects))}
	for i, object := range objects {
		p, err := New(object)
		if err != nil {
			return nil, err
		}
		l.Items[i] = *p
	}
	return l, nil
}

// HasCauses reports whether anything stops deletions.
func (l *List) HasCauses() bool {
	return slices.ContainsFunc(l.Items, func(p Policy) bool { return len(p.Causes) > 0 })
}

// Policy is a policy with the numbers of its status, what it deletes next, and the causes that stop its deletions.
type Policy struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Namespace  string                  `json:"namespace,omitempty"`
	Name       string                  `json:"name"`
	Mode       string                  `json:"mode"`
	Ready      metav1.ConditionStatus  `json:"ready"`             // of condition Ready; Unknown if the status is missing or outdated
	Reason     string                  `json:"reason"`            // of condition Ready; or NoStatus, OutdatedStatus or Deleted
	Matched    *int64                  `json:"matched,omitempty"` // absent if it is 0 and Sunset has not counted everything: the policy has no status, or Watching or Permitted is not True
	Held       *int64                  `json:"held,omitempty"`    // absent as matched is
	Due        *v1alpha1.DueCounts     `json:"due,omitempty"`     // absent as matched is
	Blocked    *int64                  `json:"blocked,omitempty"` // absent as matched is
	Errors     *int64                  `json:"errors,omitempty"`  // absent as matched is
	Deleted    *int64                  `json:"deleted,omitempty"` // absent if the policy has no status
	Storage    *v1alpha1.StorageStatus `json:"storage,omitempty"` // of the objects whose size is known; nil if no rule gives sizes
	Next       []Next                  `json:"next"`              // at most five objects; those of a dry run are not deleted
	Causes     []Cause                 `json:"causes"`

	enforcing bool // condition Enforcing is True
}

// SetDeleted records that the policy no longer exists.
func (p *Policy) SetDeleted() { p.Ready, p.Reason = metav1.ConditionUnknown, deleted }

// Next is an object that is deleted next.
type Next struct {
	v1alpha1.DueSample `json:",inline"`
	Kind               string `json:"kind"`
	Rule               string `json:"rule"`
}

// Cause is a cause that stops deletions of a policy.
type Cause struct {
	Type    string `json:"type,omitempty"` // of the condition; empty if the status is missing or outdated
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// The reasons for which the status of a policy is not known.
const (
	noStatus       = "NoStatus"
	outdatedStatus = "OutdatedStatus"
	deleted        = "Deleted"
)

// Of decodes the status of a policy.
func Of(object map[string]any) (status v1alpha1.RetentionPolicyStatus, err error) {
	if written, ok := object["status"].(map[string]any); ok {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(written, &status)
	}
	if err != nil {
		name := (&unstructured.Unstructured{Object: object}).GetName()
		return status, fmt.Errorf("cannot read the status of policy %s; use the version of kubectl sunset that the controller has: %w", name, err)
	}
	return status, nil
}

// New returns the status of a policy.
func New(object map[string]any) (*Policy, error) {
	s, err := Of(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: object}
	mode, _, _ := unstructured.NestedString(object, "spec", "mode")
	p := &Policy{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		Mode: cmp.Or(mode, string(v1alpha1.DryRun)), Ready: metav1.ConditionUnknown,
		Storage: s.Storage, Next: nextOf(object, s.Rules), Causes: []Cause{},
	}
	unknown := func(reason, message string) {
		p.Reason = reason
		p.Causes = append(p.Causes, Cause{Reason: reason, Message: message + "; if this persists, check the controller: kubectl sunset check"})
	}
	switch ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); {
	case ready == nil || ready.Reason == v1alpha1.ReasonPending:
		unknown(noStatus, "the policy has no status yet")
	case s.ObservedGeneration != u.GetGeneration():
		unknown(outdatedStatus, "the status is that of an earlier version of the policy")
	default:
		p.Ready, p.Reason = ready.Status, ready.Reason
		p.enforcing = enforces(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionEnforcing))
		for _, c := range s.Conditions {
			if v1alpha1.StopsDeletions(&c) {
				p.Causes = append(p.Causes, Cause{c.Type, c.Reason, c.Message})
			}
		}
	}
	p.setNumbers(&s)
	return p, nil
}

// setNumbers sets the numbers of a status. The controller writes 0 for what it does not know.
func (p *Policy) setNumbers(s *v1alpha1.RetentionPolicyStatus) {
	exists := p.Reason != noStatus
	counted := exists && !isObstacle(s.Conditions, v1alpha1.ConditionWatching) && !isObstacle(s.Conditions, v1alpha1.ConditionPermitted)
	p.Matched, p.Held, p.Blocked, p.Errors = known(s.Matched, counted), known(s.Held, counted), known(s.Blocked, counted), known(s.Errors, counted)
	p.Due, p.Deleted = known(s.Due, counted), known(s.Deleted, exists)
}

// known returns a number; nil for a zero that may be wrong.
func known[T comparable](n T, isKnown bool) *T {
	if zero := *new(T); n == zero && !isKnown {
		return nil
	}
	return &n
}

// isObstacle reports whether a condition is there and not True.
func isObstacle(conditions []metav1.Condition, name string) bool {
	c := meta.FindStatusCondition(conditions, name)
	return c != nil && c.Status != metav1.ConditionTrue
}

// enforces reports whether a policy deletes objects at their due times. That includes the times to which windows and freezes defer
// deletions.
func enforces(enforcing *metav1.Condition) bool {
	return enforcing != nil && (enforcing.Status == metav1.ConditionTrue || slices.Contains([]string{policy.IsFrozen, policy.OutsideWindows}, enforcing.Reason))
}

// nextShown is the number of objects in Policy.Next.
const nextShown = 5

// nextOf returns the objects of all rules that are due first, each once.
func nextOf(object map[string]any, rules []v1alpha1.RuleStatus) []Next {
	next := []Next{}
	for _, r := range rules {
		kind := kindOf(object, r.Name)
		for _, sample := range r.Soonest {
			n := Next{DueSample: sample, Kind: kind, Rule: r.Name}
			if !slices.ContainsFunc(next, n.isSameObject) {
				next = append(next, n)
			}
		}
	}
	slices.SortStableFunc(next, func(a, b Next) int { return a.DueTime.Compare(b.DueTime.Time) })
	return next[:min(len(next), nextShown)]
}

func (n Next) isSameObject(o Next) bool {
	return n.Kind == o.Kind && n.Namespace == o.Namespace && n.Name == o.Name
}

// kindOf returns the kind that a rule of a policy targets; empty if the policy has no such rule.
func kindOf(object map[string]any, rule string) string {
	rules, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "rules")
	all, _ := rules.([]any)
	for _, r := range all {
		if written, ok := r.(map[string]any); ok && written["name"] == rule {
			kind, _, _ := unstructured.NestedString(written, "target", "kind")
			return kind
		}
	}
	return ""
}

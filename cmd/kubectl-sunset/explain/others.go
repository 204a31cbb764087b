// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Other is a rule for the object's kind that does not select it.
type Other struct {
	policy.RuleID
	Mode    v1alpha1.Mode `json:"mode"`
	Why     Why           `json:"why"`
	Message string        `json:"message"`

	rule *policy.Rule
}

// Why says in a stable word why a rule does not select an object.
type Why string

const (
	LabelsDiffer         Why = "LabelsDiffer"         // the object's labels differ from the rule's selector
	NamespaceNotSelected Why = "NamespaceNotSelected" // by the policy's namespaceSelector
	NamespaceExcluded    Why = "NamespaceExcluded"    // by excludeNamespaces
	NamespaceProtected   Why = "NamespaceProtected"   // from all policies
	OtherNamespace       Why = "OtherNamespace"       // a RetentionPolicy applies only to its own namespace
	NodeNotSelected      Why = "NodeNotSelected"      // by the rule's nodeSelector
	MirrorPod            Why = "MirrorPod"            // deleting a mirror Pod has no effect
)

// OthersOf returns the rules for the kind of an object that do not select it because of its namespace or node, or because it is a
// mirror Pod.
func OthersOf(object map[string]any, c *preview.Case, by preview.Input) (others []Other) {
	if engine.IsMirror(object) {
		for _, r := range c.Applying {
			others = append(others, Other{r.ID, r.Mode, MirrorPod, "it is a mirror Pod, which only its node can stop", r})
		}
	}
	for _, p := range by.Policies {
		for _, r := range p.Rules {
			if policy.StoredAs(r.Kind) != c.Kind {
				continue
			}
			if why, message := whyNot(p, r, c, by); why != "" {
				others = append(others, Other{r.ID, r.Mode, why, message, r})
			}
		}
	}
	return others
}

// whyNot returns why a rule does not apply to the namespace or node of an object; empty if it applies.
func whyNot(p *policy.Policy, r *policy.Rule, c *preview.Case, by preview.Input) (Why, string) {
	node := by.Node
	if node == nil {
		node = &engine.Node{} // without labels
	}
	namespace := c.Subject.Namespace
	switch {
	case by.Protection.Namespace(namespace):
		return NamespaceProtected, "namespace " + namespace + " is protected from all policies"
	case p.Namespace != "" && p.Namespace != namespace:
		return OtherNamespace, "it applies to namespace " + p.Namespace
	case r.OnNodes() && !r.SelectsNode(node.Labels):
		return NodeNotSelected, "nodeSelector is " + r.NodeSelector.String()
	case p.Namespace != "" || namespace == "":
		return "", ""
	case p.Excluded.Has(namespace):
		return NamespaceExcluded, "excludeNamespaces contains " + namespace
	case !p.Namespaces.Matches(c.Namespace.Labels):
		return NamespaceNotSelected, "namespaceSelector is " + p.Namespaces.String()
	}
	return "", ""
}

// selecting returns steps that make the rule select the object, and further steps that the rule needs to delete it. It returns
// none for protected namespaces and for images on other nodes.
func (in *Input) selecting(o Other) []step {
	object, what := in.Object, ""
	switch o.Why {
	case LabelsDiffer:
		object, what = matching(in.Object, o.rule.Spec.Target.Selector)
	case NamespaceNotSelected:
		what = "select " + in.Subject.Namespace + " in namespaceSelector of " + o.Policy
	case NamespaceExcluded:
		what = "remove " + in.Subject.Namespace + " from excludeNamespaces of " + o.Policy
	default:
		return nil
	}
	evaluation := policy.Evaluation{Rule: o.rule, Known: true, Facts: in.Facts(o.rule, object)}
	if !evaluation.Facts.Selected {
		return nil // it needs other labels too, or no labels match
	}
	isWhole := o.Why == LabelsDiffer && o.rule.Keep == 0 && !o.rule.Capacity.Bounded // otherwise overrides or other objects may keep it
	steps := []step{{what: what, author: o.Why != LabelsDiffer, guess: !isWhole, do: func(w *whatIf) {
		w.evaluations = append(slices.DeleteFunc(w.evaluations, func(r policy.Evaluation) bool { return r.Rule.ID == o.RuleID }), evaluation)
	}}}
	if said := verdictAlone(in.Subject, evaluation, in.At); said.Action == policy.Keep {
		for _, s := range in.stepsBy(said, &Rule{RuleID: o.RuleID}) {
			do := s.do
			s.do = func(w *whatIf) {
				if slices.ContainsFunc(w.evaluations, func(r policy.Evaluation) bool { return r.Rule.ID == o.RuleID && r.Facts.Selected }) {
					do(w)
				}
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// matching returns the object with labels that match a selector, and describes the change.
func matching(object map[string]any, selector *metav1.LabelSelector) (changed map[string]any, what string) {
	metadata := preview.MetadataOf(object)
	labels, _ := metadata["labels"].(map[string]any)
	object, metadata, labels = maps.Clone(object), maps.Clone(metadata), maps.Clone(labels)
	if labels == nil {
		labels = map[string]any{}
	}
	metadata["labels"], object["metadata"] = labels, metadata
	var toSet, toRemove []string
	set := func(key, value string) {
		if labels[key] != value {
			labels[key], toSet = value, append(toSet, key+"="+value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		set(key, selector.MatchLabels[key])
	}
	for _, e := range selector.MatchExpressions {
		value, isThere := labels[e.Key].(string)
		isListed := isThere && slices.Contains(e.Values, value)
		switch {
		case e.Operator == metav1.LabelSelectorOpIn && !isListed:
			set(e.Key, e.Values[0])
		case e.Operator == metav1.LabelSelectorOpExists && !isThere:
			set(e.Key, "true")
		case e.Operator == metav1.LabelSelectorOpNotIn && isListed, e.Operator == metav1.LabelSelectorOpDoesNotExist && isThere:
			delete(labels, e.Key)
			toRemove = append(toRemove, e.Key)
		}
	}
	var parts []string
	if len(toSet) > 0 {
		parts = append(parts, "set labels on the object: "+strings.Join(toSet, ", "))
	}
	if len(toRemove) > 0 {
		parts = append(parts, "remove labels from the object: "+strings.Join(toRemove, ", "))
	}
	return object, strings.Join(parts, ", and ")
}

package explain

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Other is a rule about the object's kind that does not select it.
type Other struct {
	policy.RuleID
	Mode    v1alpha1.Mode `json:"mode"`
	Why     Why           `json:"why"`
	Message string        `json:"message"`

	rule *policy.Rule
}

// Why is a stable word for why a rule does not select an object.
type Why string

const (
	LabelsDiffer         Why = "LabelsDiffer"         // of the object
	NamespaceNotSelected Why = "NamespaceNotSelected" // by the policy's namespaceSelector
	NamespaceExcluded    Why = "NamespaceExcluded"    // by excludeNamespaces
	NamespaceProtected   Why = "NamespaceProtected"   // from every policy
	OtherNamespace       Why = "OtherNamespace"       // a RetentionPolicy is about its own only
	NodeNotSelected      Why = "NodeNotSelected"      // by the rule's nodeSelector
	MirrorPod            Why = "MirrorPod"            // deleting it would delete nothing
)

// Mirrored are rules about Pods, told of one that only mirrors what a kubelet runs from a file.
func Mirrored(rules []*policy.Rule) []Other {
	var others []Other
	for _, r := range rules {
		others = append(others, Other{RuleID: r.ID, Mode: r.Mode, Why: MirrorPod, Message: "it mirrors a Pod that only its node can end"})
	}
	return others
}

// OnOtherNodes are the rules about images that do not count on a node; nil is one without labels.
func OnOtherNodes(node *engine.Node, policies []*policy.Policy) []Other {
	if node == nil {
		node = &engine.Node{}
	}
	var others []Other
	for _, p := range policies {
		for _, r := range p.Rules {
			if r.OnNodes() && !r.SelectsNode(node.Labels) {
				others = append(others, Other{RuleID: r.ID, Mode: r.Mode, Why: NodeNotSelected, Message: "nodeSelector wants " + r.NodeSelector.String()})
			}
		}
	}
	return others
}

// OthersIn are the rules about a kind that do not apply in a namespace, "" for cluster-scoped objects, by policy as given.
func OthersIn(namespace string, n policy.Namespace, kind schema.GroupKind, policies []*policy.Policy, protection policy.Protection) []Other {
	var others []Other
	for _, p := range policies {
		for _, r := range p.Rules {
			if policy.StoredAs(r.Kind) != kind {
				continue
			}
			if why, message := whyNot(p, namespace, n, protection); why != "" {
				others = append(others, Other{RuleID: r.ID, Mode: r.Mode, Why: why, Message: message, rule: r})
			}
		}
	}
	return others
}

// whyNot is empty when the policy applies in the namespace.
func whyNot(p *policy.Policy, namespace string, n policy.Namespace, protection policy.Protection) (Why, string) {
	switch {
	case protection.Namespace(namespace):
		return NamespaceProtected, "no policy touches namespace " + namespace
	case p.Namespace != "" && p.Namespace != namespace:
		return OtherNamespace, "it is about namespace " + p.Namespace
	case p.Namespace != "" || namespace == "":
		return "", ""
	case p.Excluded.Has(namespace):
		return NamespaceExcluded, "excludeNamespaces has " + namespace
	case !p.Namespaces.Matches(n.Labels):
		return NamespaceNotSelected, "namespaceSelector wants " + p.Namespaces.String()
	}
	return "", ""
}

// selecting are the changes that make the rule select the object, and what else it takes for the rule to let the object go; none if a
// protection would have to end, or an image would have to be on another node.
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
		return nil // it takes other labels too, or there are none that match
	}
	isWhole := o.Why == LabelsDiffer && o.rule.Keep == 0 && !o.rule.Capacity.Bounded // else overrides, or other objects, may keep it
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

// matching is the object with labels that a selector matches, and what to do for it, in words.
func matching(object map[string]any, selector *metav1.LabelSelector) (changed map[string]any, what string) {
	metadata, _ := object["metadata"].(map[string]any)
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

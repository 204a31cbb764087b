package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Other is a rule about the object's kind that does not select it.
type Other struct {
	ID      policy.RuleID
	Mode    v1alpha1.Mode
	Why     Why
	Message string

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
		others = append(others, Other{ID: r.ID, Mode: r.Mode, Why: MirrorPod, Message: "it mirrors a Pod that only its node can end"})
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
				others = append(others, Other{ID: r.ID, Mode: r.Mode, Why: NodeNotSelected, Message: "nodeSelector wants " + r.NodeSelector.String()})
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
				others = append(others, Other{ID: r.ID, Mode: r.Mode, Why: why, Message: message, rule: r})
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

// selecting is the change that makes the rule select the object; none if a protection would have to end, or an image would have to be on
// another node.
func (o Other) selecting(namespace string) []step {
	var what string
	switch o.Why {
	case LabelsDiffer:
		what = "set labels on the object: " + metav1.FormatLabelSelector(o.rule.Spec.Target.Selector)
	case NamespaceNotSelected:
		what = "select " + namespace + " in namespaceSelector of " + o.ID.Policy
	case NamespaceExcluded:
		what = "remove " + namespace + " from excludeNamespaces of " + o.ID.Policy
	default:
		return nil
	}
	return []step{{what: what + ", if " + o.ID.String() + " finds it eligible", author: o.Why != LabelsDiffer, guess: true, do: func(w *world) {
		if !slices.ContainsFunc(w.rulings, func(r policy.Ruling) bool { return r.Rule.ID == o.ID }) {
			w.rulings = append(w.rulings, policy.Ruling{Rule: o.rule, Known: true})
		}
		w.change(o.ID, w.find)
	}}}
}

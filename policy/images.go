package policy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// DefaultMinAge is how long an image stays at least, unless its rule says otherwise.
const DefaultMinAge = 2 * time.Minute

// shortestImageTTL is what a time to live of images should not be below: they are pulled again and again then.
const shortestImageTTL = time.Hour

// Images is what else a rule about images says. It is zero for any other rule.
type Images struct {
	MinAge time.Duration // how long an image stays at least after it was first seen
	// HasThresholds: beyond High percent of the filesystem the eligible images unused for longest go, until Low is reached.
	HasThresholds bool
	High, Low     int
	// AllowUnpullable lets images go that have no digest.
	AllowUnpullable bool
}

// OnNodes reports whether the rule is about images of nodes. Agents on the nodes do what such a rule says, and it is
// about no namespace.
func (r *Rule) OnNodes() bool { return r.Kind.GroupKind() == v1alpha1.ImageKind.GroupKind() }

// SelectsNode reports whether a rule about images is about those of a node with these labels. One whose selector cannot
// be read may be about any.
func (r *Rule) SelectsNode(set labels.Set) bool {
	return r.NodeSelector == nil || r.NodeSelector.Matches(set)
}

// sameImages reports whether both rules say the same about images and are about the same nodes.
func (r *Rule) sameImages(o *Rule) bool {
	return r.Images == o.Images && (r.NodeSelector == nil) == (o.NodeSelector == nil) &&
		(r.NodeSelector == nil || r.NodeSelector.String() == o.NodeSelector.String())
}

// hasThresholds reports whether the rule as written lets images go for want of space.
func hasThresholds(spec *v1alpha1.Rule) bool {
	return spec.Images != nil && spec.Images.HighThresholdPercent != nil
}

// nodeGroup reports whether the target is of the group that images of nodes are of.
func (r *Rule) nodeGroup() bool {
	group, _, _ := strings.Cut(r.Spec.Target.APIVersion, "/")
	return group == v1alpha1.ImageKind.Group
}

// loadImages checks what is special about rules about images, and what only they can say.
func (p *Policy) loadImages(r *Rule, at report) {
	if !r.nodeGroup() {
		r.refuseForOthers(at)
		return
	}
	r.NodeSelector = labels.Everything()
	switch {
	case r.Kind.Kind == "":
	case r.Kind.Kind != v1alpha1.ImageKind.Kind:
		at("target.kind", fmt.Sprintf("%q is nothing that nodes have", r.Kind.Kind), "write kind: "+v1alpha1.ImageKind.Kind)
	case r.Kind != v1alpha1.ImageKind:
		at("target.apiVersion", fmt.Sprintf("version %s of images is not known here", r.Kind.Version), "write "+v1alpha1.ImageKind.GroupVersion().String())
	}
	if p.Namespace != "" || p.namespaced {
		at("target.kind", "images are of nodes, which are in no namespace", "only a ClusterRetentionPolicy has rules about images")
	}
	r.loadThresholds(at, r.Spec.Images)
	r.loadNodeSelector(at)
	r.refuseForImages(at)
	if p.Limits != nil {
		at("target", "no ledger is kept for images, so that spec.limits cannot count them", "write the rule in a policy without limits")
	}
}

// refuseForOthers finds what only a rule about images can say.
func (r *Rule) refuseForOthers(at report) {
	const message, hint = "only a rule about images of nodes has it", "leave it out, or write target: " + imageTarget
	if r.Spec.Images != nil {
		at("images", message, hint)
	}
	if r.Spec.NodeSelector != nil {
		at("nodeSelector", message, hint)
	}
}

const imageTarget = "{apiVersion: node.sunset.x-k8s.io/v1alpha1, kind: Image}"

func (r *Rule) loadThresholds(at report, written *v1alpha1.Images) {
	r.Images = Images{MinAge: DefaultMinAge}
	if written == nil {
		return
	}
	r.Images.AllowUnpullable = written.AllowUnpullable
	if written.MinAge != "" {
		age, err := ParseTTL(written.MinAge)
		if err != nil {
			at("images.minAge", err.Error(), "")
		}
		r.Images.MinAge = age
	}
	high, low := written.HighThresholdPercent, written.LowThresholdPercent
	switch {
	case high == nil && low == nil:
	case low == nil:
		at("images.lowThresholdPercent", "missing beside highThresholdPercent", "write at how many percent to stop")
	case high == nil:
		at("images.highThresholdPercent", "missing beside lowThresholdPercent", "write at how many percent to begin")
	case *high < 1 || *high > 100:
		at("images.highThresholdPercent", fmt.Sprintf("%d is out of range", *high), "1 to 100")
	case *low < 0 || *low > 99:
		at("images.lowThresholdPercent", fmt.Sprintf("%d is out of range", *low), "0 to 99")
	case *low >= *high:
		at("images.lowThresholdPercent", fmt.Sprintf("%d is not below highThresholdPercent, %d", *low, *high), "a few percent less, such as 85 and 80")
	default:
		r.Images.HasThresholds, r.Images.High, r.Images.Low = true, int(*high), int(*low)
	}
}

// loadNodeSelector reads the selector; one that cannot be read may mean any node.
func (r *Rule) loadNodeSelector(at report) {
	if r.Spec.NodeSelector == nil {
		return
	}
	s, err := metav1.LabelSelectorAsSelector(r.Spec.NodeSelector)
	if err != nil {
		at(SelectorProblem("nodeSelector", r.Spec.NodeSelector, err))
		return
	}
	r.NodeSelector = s
}

// refuseForImages finds what a rule about images cannot say: it would be ignored.
func (r *Rule) refuseForImages(at report) {
	if s := r.Spec.Target.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		at("target.selector", "images have no labels", "write conditions in eligible; nodeSelector says on which nodes")
	}
	if r.Spec.Outcome != "" {
		at("outcome", "no ledger is kept for images, so that nothing is counted by it", "leave it out")
	}
	if r.Spec.Override != nil {
		at("override", "images are in no namespace and have no annotations: nothing can override the rule", "leave it out")
	}
	if r.Spec.Delete != nil {
		at("delete", "an image is removed from its node: it has no owner and no dependents", "leave it out")
	}
	if r.Spec.Events == v1alpha1.EventsPerObject {
		at("events", "of images no Events are written one by one", "leave it out")
	}
	c := r.Spec.Capacity
	switch {
	case c == nil:
	case c.PercentOfQuota != nil:
		at("capacity.percentOfQuota", "no quota counts images", "write max, which counts on each node by itself")
	case c.Share == v1alpha1.ShareFair:
		at("capacity.share", "each node counts by itself", "leave share out")
	}
}

// namedOnNodes finds overrides that name a rule about images: nothing in a namespace changes one.
func namedOnNodes(overrides []*Override, images map[RuleID]*Rule) []Problem {
	var problems []Problem
	for _, o := range overrides {
		if r := images[RuleID{Policy: o.Policy, Rule: o.Rule}]; r != nil {
			problems = append(problems, Problem{
				Path: o.Path + ".rule", Message: fmt.Sprintf("rule %s is about images of nodes, which are in no namespace", r.ID), Hint: "leave the override out",
			})
		}
	}
	return problems
}

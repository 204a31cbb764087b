// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// DefaultMinAge is the minimum age of an image if its rule does not set one.
const DefaultMinAge = 2 * time.Minute

// shortestImageTTL is the recommended minimum TTL of images: with a shorter one they are pulled again repeatedly.
const shortestImageTTL = time.Hour

// Images has the settings of a rule about images. It is zero for all other rules.
type Images struct {
	MinAge time.Duration // minimum time that an image is kept after it was first seen
	// HasThresholds: at or above High percent of the filesystem, eligible images are removed until Low is reached; those unused for the
	// longest time first.
	HasThresholds bool
	High, Low     int
	// AllowUnpullable allows the removal of images without a digest of a registry.
	AllowUnpullable bool
}

// OnNodes reports whether the rule targets images of nodes. Agents on the nodes carry out such a rule, and it applies in no
// namespace.
func (r *Rule) OnNodes() bool { return r.Kind.GroupKind() == v1alpha1.ImageKind.GroupKind() }

// SelectsNode reports whether a rule about images applies on a node with these labels. A rule whose selector cannot be read may
// apply on any node.
func (r *Rule) SelectsNode(set labels.Set) bool {
	return r.NodeSelector == nil || r.NodeSelector.Matches(set)
}

// sameImages reports whether both rules have the same settings for images and apply on the same nodes.
func (r *Rule) sameImages(o *Rule) bool {
	return r.Images == o.Images && (r.NodeSelector == nil) == (o.NodeSelector == nil) &&
		(r.NodeSelector == nil || r.NodeSelector.String() == o.NodeSelector.String())
}

// hasThresholds reports whether the rule as written removes images to free disk space.
func hasThresholds(spec *v1alpha1.Rule) bool {
	return spec.Images != nil && spec.Images.HighThresholdPercent != nil
}

// nodeGroup reports whether the target is in the API group of images of nodes.
func (r *Rule) nodeGroup() bool {
	group, _, _ := strings.Cut(r.Spec.Target.APIVersion, "/")
	return group == v1alpha1.ImageKind.Group
}

// loadImages checks the settings of rules about images, and refuses them in other rules.
func (p *Policy) loadImages(r *Rule, at report) {
	if !r.nodeGroup() {
		r.refuseForOthers(at)
		return
	}
	r.NodeSelector = labels.Everything()
	switch {
	case r.Kind.Kind == "":
	case r.Kind.Kind != v1alpha1.ImageKind.Kind:
		at("target.kind", fmt.Sprintf("nodes have no kind %q", r.Kind.Kind), "write kind: "+v1alpha1.ImageKind.Kind)
	case r.Kind != v1alpha1.ImageKind:
		at("target.apiVersion", fmt.Sprintf("version %s of kind Image is unknown", r.Kind.Version), "write "+v1alpha1.ImageKind.GroupVersion().String())
	}
	if p.Namespace != "" || p.namespaced {
		at("target.kind", "images of nodes are cluster-scoped", "only a ClusterRetentionPolicy can have rules about images")
	}
	r.loadThresholds(at, r.Spec.Images)
	r.loadNodeSelector(at)
	r.refuseForImages(at)
	if p.Limits != nil {
		at("target", "images have no ledger, so spec.limits cannot count them", "write the rule in a policy without limits")
	}
}

// refuseForOthers refuses the fields that only a rule about images can have.
func (r *Rule) refuseForOthers(at report) {
	const message, hint = "only a rule about images of nodes can have this field", "leave it out, or write target: " + imageTarget
	if r.Spec.Images != nil {
		at("images", message, hint)
	}
	if r.Spec.NodeSelector != nil {
		at("nodeSelector", message, hint)
	}
}

const imageTarget = "{apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}"

func (r *Rule) loadThresholds(at report, written *v1alpha1.Images) {
	r.Images = Images{MinAge: DefaultMinAge}
	if written == nil {
		return
	}
	r.Images.AllowUnpullable = written.AllowUnpullable
	if written.MinAge != "" {
		age, err := ParseTTL(written.MinAge)
		if err != nil {
			at("images.minAge", err.Error(), TTLHint(written.MinAge))
		}
		r.Images.MinAge = age
	}
	high, low := written.HighThresholdPercent, written.LowThresholdPercent
	switch {
	case high == nil && low == nil:
	case low == nil:
		at("images.lowThresholdPercent", "missing, but highThresholdPercent is set", "write the disk usage in percent at which the agent stops")
	case high == nil:
		at("images.highThresholdPercent", "missing, but lowThresholdPercent is set", "write the disk usage in percent at which the agent starts")
	case *high < 1 || *high > 100:
		at("images.highThresholdPercent", fmt.Sprintf("%d is out of range", *high), "1 to 100")
	case *low < 0 || *low > 99:
		at("images.lowThresholdPercent", fmt.Sprintf("%d is out of range", *low), "0 to 99")
	case *low >= *high:
		at("images.lowThresholdPercent", fmt.Sprintf("%d is not below highThresholdPercent, %d", *low, *high), "write a few percent less, such as 85 and 80")
	default:
		r.Images.HasThresholds, r.Images.High, r.Images.Low = true, int(*high), int(*low)
	}
}

// loadNodeSelector reads the selector. A selector that cannot be read may mean any node.
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

// refuseForImages refuses the fields that have no meaning in a rule about images, because they would be ignored.
func (r *Rule) refuseForImages(at report) {
	if s := r.Spec.Target.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		at("target.selector", "images have no labels", "write conditions in eligible; nodeSelector selects the nodes")
	}
	if r.Spec.Outcome != "" {
		at("outcome", "images have no ledger, so no outcomes are counted", "leave it out")
	}
	if r.Spec.Bytes != "" {
		at("bytes", "the container runtime reports the sizes of images", "leave it out")
	}
	if r.Spec.OverrideBounds != nil {
		at("overrideBounds", "images have no namespace and no annotations, so nothing can override the rule", "leave it out")
	}
	if r.Spec.Delete != nil {
		at("delete", "an image is removed from its node: it has no owner and no dependents", "leave it out")
	}
	if r.Spec.Archive != nil {
		r.Archive = nil
		at("archive", "images cannot be archived", "leave it out")
	}
	if r.Spec.Events == v1alpha1.EventsPerObject {
		at("events", "Sunset writes no Events for single images", "leave it out")
	}
	c := r.Spec.Capacity
	switch {
	case c == nil:
	case c.PercentOfQuota != nil:
		at("capacity.percentOfQuota", "a ResourceQuota does not count images", "write max, which counts the images of each node")
	case c.Share == v1alpha1.ShareFair:
		at("capacity.share", "capacity counts the images of each node separately", "leave share out")
	}
}

// namedOnNodes finds overrides of rules about images, which no namespace can change.
func namedOnNodes(overrides []*Override, images map[RuleID]*Rule) []Problem {
	var problems []Problem
	for _, o := range overrides {
		if r := images[RuleID{Policy: o.Policy, Rule: o.Rule}]; r != nil {
			problems = append(problems, Problem{
				Path: o.Path + ".rule", Message: fmt.Sprintf("rule %s targets images of nodes, which are cluster-scoped", r.ID), Hint: "leave the override out",
			})
		}
	}
	return problems
}

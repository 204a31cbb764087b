// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Nodes is the part of the node reports that a Reporter reads.
type Nodes interface {
	// Version changes whenever the sums may have changed.
	Version() uint64
	// Sum returns the sums of the reports about policies; false until all reports have been read. A policy has removed at least the
	// images in before.
	Sum(policies []*policy.Policy, before map[types.UID]agentapi.Removed, now time.Time) (agentapi.Sums, bool)
	// Unread returns why reports are not read; nil if they are read, or are being read.
	Unread() *retention.SourceError
}

// NodeRules is the state of the rules that nodes receive.
type NodeRules interface {
	// Missing reports whether the rules of a policy do not fit.
	Missing(policy types.UID) bool
	// Unwritten returns why node agents do not receive the rules of policies; nil if they do.
	Unwritten() error
}

// nodesNow is the known state of nodes in one round of statuses. It is zero without rules about images.
type nodesNow struct {
	sums      agentapi.Sums
	read      bool // all reports were read, so that sums count
	unread    *retention.SourceError
	missing   map[types.UID]*policy.Policy
	unwritten error
	noStatus  sets.Set[types.UID] // policies whose status could not be read, which says how many images former nodes removed; they have no sum
}

// nodesNow sums up the reports of nodes.
func (r *Reporter) nodesNow(ctx context.Context, snapshot *policy.Snapshot) nodesNow {
	about := slices.DeleteFunc(slices.Clone(snapshot.Policies()), func(p *policy.Policy) bool { return !agentapi.OnNodes(p) })
	n := nodesNow{missing: map[types.UID]*policy.Policy{}, noStatus: sets.New[types.UID]()}
	if len(about) == 0 {
		return n
	}
	before := map[types.UID]agentapi.Removed{}
	for _, p := range about {
		if r.NodeRules.Missing(p.UID) {
			n.missing[p.UID] = p
		}
		switch rec, err := r.record(ctx, p); {
		case err != nil:
			n.noStatus.Insert(p.UID)
			r.Changed() // the next report reads it again
		case rec != nil && rec.status.NodeImages != nil:
			before[p.UID] = agentapi.Removed{All: rec.status.NodeImages.Removed, Rules: removedBy(p, rec.status)}
		}
	}
	n.sums, n.read = r.Nodes.Sum(about, before, r.counted)
	for uid := range n.noStatus {
		delete(n.sums.Policies, uid)
	}
	for _, sum := range n.sums.Policies {
		sum.Price(r.Prices)
	}
	n.unread, n.unwritten = r.Nodes.Unread(), r.NodeRules.Unwritten()
	return n
}

// removedBy returns how many images each rule of a policy has removed, by its status.
func removedBy(p *policy.Policy, s v1alpha1.RetentionPolicyStatus) map[string]int64 {
	all := map[string]int64{}
	for _, r := range p.Rules {
		i := slices.IndexFunc(s.Rules, func(known v1alpha1.RuleStatus) bool { return known.Name == r.ID.Rule })
		if i >= 0 && r.OnNodes() {
			all[r.ID.Rule] = s.Rules[i].Deleted
		}
	}
	return all
}

// imagesOf returns how many of the deletions in a status are images.
func imagesOf(s *v1alpha1.RetentionPolicyStatus) int64 {
	if s.NodeImages == nil {
		return 0
	}
	return s.NodeImages.Removed.Images
}

// withImages adds the reports of nodes to a status, and returns the deletions of the policy including images. Until every
// report has been read, it uses the previous status. Without a rule about images, only the number of removed images stays: agents
// continue with it if the policy has such a rule again.
func (v *statusInput) withImages(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus, before v1alpha1.RetentionPolicyStatus, deleted history) history {
	if !agentapi.OnNodes(p) {
		if images := imagesOf(&before); images > 0 {
			s.NodeImages = &v1alpha1.NodeImagesStatus{Removed: before.NodeImages.Removed}
			deleted.total += images
		}
		return deleted
	}
	deleted.rules = maps.Clone(deleted.rules)
	if deleted.rules == nil {
		deleted.rules = deletions{}
	}
	removed := removedBy(p, before)
	s.NodeImages = before.NodeImages.DeepCopy()
	if sum := v.nodes.about(p); sum != nil {
		s.NodeImages, removed = &sum.Status, sum.Removed
	}
	for _, r := range p.Rules {
		if r.OnNodes() {
			deleted.rules[r.ID.Rule] = removed[r.ID.Rule]
		}
	}
	deleted.total += imagesOf(s)
	return deleted
}

// about returns the sum of the reports about a policy; nil until every report has been read, and for a policy without rules
// about images.
func (n *nodesNow) about(p *policy.Policy) *agentapi.Sum {
	if of := n.sums.Policies[p.UID]; n.read && of != nil {
		return of
	}
	return nil
}

// reading reports whether the reports about a policy, or its status, are being read.
func (n *nodesNow) reading(p *policy.Policy) bool {
	return !n.read && n.unread == nil || n.noStatus.Has(p.UID)
}

// counted reports whether every node has counted the current rules of a policy.
func (n *nodesNow) counted(p *policy.Policy) bool {
	return n.read && n.unread == nil && n.missing[p.UID] == nil && n.sums.Counted(p.UID)
}

// watching returns whether nodes report about a policy. well is the condition of its other rules.
func (n *nodesNow) watching(p *policy.Policy, well conditionState) conditionState {
	sum := n.about(p)
	waits := slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.OnNodes() && p.Gate.Covers("", r.ID.Rule) })
	switch {
	case n.unread != nil:
		return conditionState{no, n.unread.Reason, n.unread.Message}
	case n.noStatus.Has(p.UID):
		return conditionState{unknown, "Listing", "Sunset is reading the status of the policy, which has the images that former nodes removed"}
	case sum == nil:
		return conditionState{unknown, "Listing", "Sunset is reading the NodeImageReports"}
	case n.missing[p.UID] != nil:
		return conditionState{no, "RulesTooLarge", fmt.Sprintf(
			"node agents do not receive the rules of this policy: rules about images are longer than %d bytes together, or it has more than %d freezes; shorten or delete rules about images, or delete freezes", agentapi.MaxBytes, agentapi.MaxFreezes)}
	case n.sums.Nodes+n.sums.Stale == 0:
		return conditionState{no, "NoAgents", "no node agent reports: install sunset-node-agent"}
	case n.sums.Nodes == 0:
		return conditionState{no, "AgentsSilent", fmt.Sprintf("none of %d node agents has reported for half an hour; check the DaemonSet sunset-node-agent", n.sums.Stale)}
	case waits && !n.sums.Settled():
		return conditionState{unknown, "Counting", fmt.Sprintf("%d nodes report, %d of them for the first time; Sunset waits in case more nodes follow", n.sums.Nodes, n.sums.New)}
	case sum.Status.Nodes == 0 || waits && sum.Behind > 0:
		return conditionState{unknown, "Counting", fmt.Sprintf("%d of %d nodes have counted this version of the policy%s", sum.Status.Nodes, n.sums.Nodes, nextBehind(sum))}
	case sum.Status.StaleNodes > 0:
		well.message = fmt.Sprintf("%s; %d of %d nodes do not report about this version of the policy", well.message, sum.Status.StaleNodes, n.sums.Nodes+n.sums.Stale)
	}
	return well
}

// nextBehind names a node that has not counted the current version of a policy.
func nextBehind(sum *agentapi.Sum) string {
	if sum.BehindNode == "" {
		return ""
	}
	return fmt.Sprintf("; node %s has not", sum.BehindNode)
}

// delays returns what keeps nodes from removing images of an enforced policy, one Delay for each reason.
func (n *nodesNow) delays(p *policy.Policy) (all []retention.Delay) {
	if !agentapi.OnNodes(p) || p.Mode != v1alpha1.Enforce {
		return nil
	}
	for _, o := range n.sums.Obstacles {
		where := fmt.Sprintf("images of node %s (%d of %d nodes)", o.Node, o.Nodes, n.sums.Nodes)
		all = append(all, retention.Delay{Policy: p.Name, Name: where, Reason: o.Reason, Message: o.Message})
	}
	return all
}

// withheld returns why nodes remove no images for an enforced policy, even if its own rules are valid.
func (n *nodesNow) withheld(p *policy.Policy) conditionState {
	if !agentapi.OnNodes(p) {
		return conditionState{status: yes}
	}
	if n.unwritten != nil {
		return conditionState{no, "RulesNotWritten", "node agents do not receive changed rules, and keep their images: " + n.unwritten.Error()}
	}
	for _, other := range n.missing {
		if other.Mode != v1alpha1.DryRun {
			return conditionState{no, "RulesTooLarge", fmt.Sprintf("node agents do not receive the rules of policy %s, and keep every image; shorten or delete its rules about images, or delete freezes", other.Name)}
		}
	}
	return conditionState{status: yes}
}

// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// View is a view for the tests.
type View struct {
	Compiled     policyset.CompiledSnapshot
	Kinds        []retention.KindState
	Warnings     func(string) []policy.Problem              // nil for none
	Permissions  func(*policy.Rule) (err error, known bool) // nil: every rule has its permissions
	PreflightErr error
	Prices       *policy.Prices
	Deleted      map[string]int64
	Before       v1alpha1.RetentionPolicyStatus
	Now          time.Time
	Nodes        interface { // nil for none
		Nodes
		NodeRules
	}
}

// Opened returns the namespaces in which the gate of a policy opens.
func (v View) Opened(p *policy.Policy) policy.ApprovalScope {
	made := v.input()
	stats := policy.NewStats(v.Now)
	for _, k := range v.Kinds {
		k.Index.Scan(stats.Add)
	}
	made.counted(stats)
	opened, _ := made.passes(p, v1alpha1.Preview{}, v.Before.PendingApproval)
	return opened
}

func (v View) input() *statusInput {
	made := newStatusInput(v.Compiled, v.Kinds, v.Now)
	made.nodes, made.warnings, made.permissions, made.preflightErr, made.prices = v.nodesNow(), v.Warnings, v.Permissions, v.PreflightErr, v.Prices
	if made.warnings == nil {
		made.warnings = func(string) []policy.Problem { return nil }
	}
	if made.permissions == nil {
		made.permissions = func(*policy.Rule) (error, bool) { return nil, true }
	}
	return made
}

func (v View) nodesNow() nodesNow {
	if v.Nodes == nil {
		return nodesNow{}
	}
	r := &Reporter{Nodes: v.Nodes, Prices: v.Prices, NodeRules: v.Nodes, counted: v.Now, written: map[types.UID]*record{}, histories: map[types.UID]history{}}
	for _, p := range v.Compiled.Snapshot.Policies() {
		r.written[p.UID] = &record{status: v.Before}
	}
	return r.nodesNow(context.Background(), v.Compiled.Snapshot)
}

// Status returns the status of a policy in this view.
func (v View) Status(p *policy.Policy) v1alpha1.RetentionPolicyStatus {
	made := v.input()
	stats := policy.NewStats(v.Now)
	stats.Prices = v.Prices
	for _, p := range v.Compiled.Snapshot.Policies() {
		if p.Namespace != "" {
			stats.Teams[p.Namespace] = policy.Team{}
		}
	}
	for _, k := range v.Kinds {
		k.Index.Scan(stats.Add)
	}
	made.counted(stats)
	deleted := history{rules: v.Deleted}
	for _, n := range v.Deleted {
		deleted.total += n
	}
	return made.status(p, deleted, v.Before)
}

// Fit drops details of a status that is too large.
func Fit(s *v1alpha1.RetentionPolicyStatus) { fit(s) }

// PerObjectAtATick is how many Events about single objects one tick writes.
const PerObjectAtATick = perObjectAtATick

// RestAfter returns the pause after a count with this duration.
func (r *Reporter) RestAfter(took time.Duration) time.Duration {
	r.took = took
	return r.rest()
}

// WritesAfter returns how long a report begins writes after a count with this duration, if policies change and if not.
func (r *Reporter) WritesAfter(took time.Duration) (least, most time.Duration) {
	r.took = took
	return r.writingTime()
}

// Counts are the known counts of namespaces.
type Counts struct{ known knownCounts }

// Count counts the subjects of an index. All counts change at until; zero for never.
func (c *Counts) Count(snapshot *policy.Snapshot, x *index.Index, now, until time.Time) *policy.Stats {
	stats := policy.NewStats(now)
	c.known.begin(snapshot, now, until)
	c.known.add(x, stats)
	return stats
}

// Known returns for how many namespaces of an index counts are known.
func (c *Counts) Known(x *index.Index) int { return len(c.known.counts[x]) }

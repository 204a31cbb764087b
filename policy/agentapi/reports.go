package agentapi

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// StaleAfter is how old a report is that does not count any more. One from the future does not count either.
	StaleAfter = 30 * time.Minute
	// maxSkew is how far the clock of a node may be ahead.
	maxSkew = 5 * time.Minute
	// settling is how long a node is new. While more than a tenth of them is, those to come are waited for: agents that are
	// just being installed report one after the other.
	settling = 15 * time.Second
	// obstacleAfter is how long a condition of a report has to last until it counts. A report can be a minute old, and many
	// obstacles pass by themselves.
	obstacleAfter = 90 * time.Second
)

// Reports is the latest report of each node. Create it with NewReports. It is not safe for concurrent use.
type Reports struct {
	nodes map[string]*report
	gone  map[types.UID]*removed // by policy: what nodes have removed that are no more
	known sets.Set[types.UID]    // the policies that were summed last
}

// NewReports makes Reports of no node.
func NewReports() *Reports {
	return &Reports{nodes: map[string]*report{}, gone: map[types.UID]*removed{}, known: sets.New[types.UID]()}
}

// Put takes the newest report of a node. It keeps nothing of its argument.
func (r *Reports) Put(report *v1alpha1.NodeImageReport) {
	kept := keep(report)
	if before := r.nodes[report.Name]; before != nil {
		r.succeed(before, kept)
	}
	r.nodes[strings.Clone(report.Name)] = kept
}

// Drop is told that a node reports no more. What it has removed still counts.
func (r *Reports) Drop(name string) {
	gone := r.nodes[name]
	if gone == nil {
		return
	}
	for i := range gone.policies {
		if e := &gone.policies[i]; r.known.Has(e.uid) {
			r.goneOf(e.uid).add(e)
		}
	}
	delete(r.nodes, name)
}

// Replace takes the reports of all nodes.
func (r *Reports) Replace(all []*v1alpha1.NodeImageReport) {
	there := sets.New[string]()
	for _, report := range all {
		there.Insert(report.Name)
		r.Put(report)
	}
	for name := range r.nodes {
		if !there.Has(name) {
			r.Drop(name)
		}
	}
}

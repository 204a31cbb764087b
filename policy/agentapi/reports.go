// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// StaleAfter is the age at which a report no longer counts. A report from the future does not count either.
	StaleAfter = 30 * time.Minute
	// maxSkew is how far the clock of a node may be ahead.
	maxSkew = 5 * time.Minute
	// settling is how long a node is new. While more than a tenth of the nodes are new, the sums wait for more reports: when
	// agents are installed, they report one after the other.
	settling = 15 * time.Second
	// obstacleAfter is how long a condition of a report must last before it counts. A report can be a minute old, and many
	// obstacles disappear without any action.
	obstacleAfter = 90 * time.Second
)

// Reports has the latest report of each node. Create it with NewReports. It is not safe for concurrent use.
type Reports struct {
	nodes map[string]*report
	gone  map[types.UID]*Removed         // by policy: images removed by nodes that no longer exist
	known map[types.UID]sets.Set[string] // rules about images of the policies in the last sum
}

// NewReports makes Reports without nodes.
func NewReports() *Reports {
	return &Reports{nodes: map[string]*report{}, gone: map[types.UID]*Removed{}, known: map[types.UID]sets.Set[string]{}}
}

// Put stores the newest report of a node. It does not keep its argument.
func (r *Reports) Put(report *v1alpha1.NodeImageReport) {
	kept := keep(report)
	if before := r.nodes[report.Name]; before != nil {
		r.carryOver(before, kept)
	}
	r.nodes[strings.Clone(report.Name)] = kept
}

// Drop removes a node that no longer reports. The images that it removed still count.
func (r *Reports) Drop(name string) {
	gone := r.nodes[name]
	if gone == nil {
		return
	}
	for i := range gone.policies {
		if rules, known := r.known[gone.policies[i].uid]; known {
			e := only(&gone.policies[i], rules)
			r.goneOf(e.uid).add(&e)
		}
	}
	delete(r.nodes, name)
}

// Replace stores the reports of all nodes, and drops all other nodes.
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

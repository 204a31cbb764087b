// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

var (
	clusterKind = schema.GroupKind{Group: "sunset-k8s.io", Kind: "ClusterRetentionPolicy"}
	teamKind    = schema.GroupKind{Group: "sunset-k8s.io", Kind: "RetentionPolicy"}
)

// window starts at the latest revision that certainly existed when Sunset read the state for a DELETE. It ends at the last
// revision before the DELETE.
type window struct{ from, to int64 }

// windowOf returns the window of a request that led to a revision, or would have.
func (j *checker) windowOf(r history.Request, to int64) window {
	return window{j.read(j.Sent(r)), to}
}

// read returns the latest revision that certainly existed when Sunset read the state for a request that was sent at a time.
func (j *checker) read(at time.Time) int64 {
	return j.times.Passed(at.Add(-j.Window - j.Late(at)))
}

// orders returns every configuration that may have been in effect for a namespace within a window. Cluster policies, policies
// of the namespace and the namespace itself are three reads, so each may be of another moment. The last order is that of the
// window's end.
func (j *checker) orders(namespace string, w window) []order {
	cluster := j.versions(clusterKind, "", w)
	teams := j.versions(teamKind, namespace, w)
	if namespace == "" {
		teams = [][]*policy{nil}
	}
	var all []order
	for _, c := range cluster {
		for _, t := range teams {
			for _, n := range j.namespaces(namespace, w) {
				all = append(all, order{cluster: c, teams: t, namespace: n, from: w.from, revision: w.to})
			}
		}
	}
	return all
}

// place is where policies of a kind are stored: a namespace, or "" for cluster policies.
type place struct {
	kind      schema.GroupKind
	namespace string
}

// version is a list of policies, by name, and the revision since which it was current.
type version struct {
	since int64
	list  []*policy
}

// versions returns the lists of policies within a window, in order.
func (j *checker) versions(kind schema.GroupKind, namespace string, w window) [][]*policy {
	all := [][]*policy{j.listed(kind, namespace, w.from)}
	editions := j.versionsIn(place{kind, namespace})
	for _, e := range editions[before(editions, w.from):before(editions, w.to)] {
		all = append(all, e.list)
	}
	return all
}

func (j *checker) listed(kind schema.GroupKind, namespace string, revision int64) []*policy {
	editions := j.versionsIn(place{kind, namespace})
	if n := before(editions, revision); n > 0 {
		return editions[n-1].list
	}
	return nil
}

// before returns how many editions there were up to and including a revision.
func before(editions []version, revision int64) int {
	return sort.Search(len(editions), func(i int) bool { return editions[i].since > revision })
}

// versionsIn returns all lists that ever existed. It computes each place once.
func (j *checker) versionsIn(at place) []version {
	all, known := j.versionsOf[at]
	if known {
		return all
	}
	now := map[string]*policy{} // by key
	for _, c := range j.Log.Between(at.kind, 0, j.Log.Revision) {
		var p *policy
		if s := c.After; s != nil && s.GetNamespace() == at.namespace && j.Sees(s) {
			p = j.policyOf(s)
		}
		if now[c.Key] == p {
			continue
		}
		if now[c.Key] = p; p == nil {
			delete(now, c.Key)
		}
		list := slices.SortedFunc(maps.Values(now), func(a, b *policy) int { return cmp.Compare(a.name, b.name) })
		all = append(all, version{c.Revision, list})
	}
	j.versionsOf[at] = all
	return all
}

// namespaces returns the states of a namespace within a window; one nil for cluster-scoped objects.
func (j *checker) namespaces(name string, w window) []*history.State {
	key := j.Log.Key("namespaces", "", name)
	if name == "" || key == "" {
		return []*history.State{nil}
	}
	states := []*history.State{j.Log.At(key, w.from)}
	for _, c := range j.Log.Of(key) {
		if c.Revision > w.from && c.Revision <= w.to {
			states = append(states, c.After)
		}
	}
	return states
}

// rankings returns the revisions at which the objects of a kind may have been ranked, the last first. Ranks may be outdated
// by a moment. If Sunset knows an old version of an object, as for a refused DELETE, it may know old versions of others too.
func (j *checker) rankings(d *removal, orders []order, w window) []int64 {
	s, from := d.change.Before, w.from
	if d.tried {
		from = min(from, s.Revision)
	}
	revisions := []int64{w.to}
	if d.tried && slices.ContainsFunc(orders, func(o order) bool { return j.reads(s, o) }) {
		revisions = append(revisions, w.from)
	}
	if !slices.ContainsFunc(orders, func(o order) bool { return j.ranks(s, o) }) {
		return revisions
	}
	for _, c := range slices.Backward(j.Log.Between(s.GroupVersionKind().GroupKind(), from, w.to)) {
		revisions = append(revisions, c.Revision-1)
	}
	return revisions
}

// reads reports whether a rule for an object reads references.
func (j *checker) reads(s *history.State, o order) bool {
	return slices.ContainsFunc(j.rules(s, o), func(r *rule) bool { return r.compiled.refers() })
}

func (j *checker) ranks(s *history.State, o order) bool {
	return slices.ContainsFunc(j.rules(s, o), func(r *rule) bool { return r.Capacity != nil || r.keeps(r.settings(o.teams)) > 0 })
}

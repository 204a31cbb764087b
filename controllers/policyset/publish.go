// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// changes records the namespaces, "" for all, with changes that are not in force yet. Until they are, Sunset deletes nothing
// there. Deletions in other namespaces do not wait. Reconciler.mu guards the fields.
type changes struct {
	waiting sets.Set[string] // not published yet
	applied sets.Set[string] // namespaces of the snapshot that is being made
	others  bool             // something changed that has no effect on which objects are kept
}

func (c *changes) in(namespace string) {
	if c.waiting == nil {
		c.waiting = sets.New[string]()
	}
	c.waiting.Insert(namespace)
}

func (c *changes) none() bool { return len(c.waiting) == 0 && !c.others }

// errPublishing reports a change that is not in force yet. If it is a policy, it is compiled.
var errPublishing = errors.New("the controller is applying a change to policies, to the namespace or to its ResourceQuotas")

// inForce returns an error while a change that may keep objects of a namespace is not in force.
func (c *changes) inForce(namespace string) error {
	switch all := c.waiting.Union(c.applied); {
	case all.Has(""):
		return errPublishing
	case all.Has(namespace):
		return fmt.Errorf("%w: %w", preflight.ErrNamespace, errPublishing)
	}
	return nil
}

// settle puts changes in force, the first time only after all policies have been read and compiled.
func (l *Reconciler) settle() {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.publish()
}

// settleFor puts changes in force. It waits for that if they concern a namespace, "" for all. While a ClusterRetentionPolicy is
// being compiled, nothing is deleted. During that time, settleFor leaves changes that arrived together with the policy for
// later.
func (l *Reconciler) settleFor(namespace string) {
	l.mu.Lock()
	later := l.changes.none() || l.compilingIn("") != nil
	own := namespace == "" || l.changes.waiting.HasAny("", namespace)
	l.mu.Unlock()
	switch {
	case later:
	case own:
		l.settle()
	default:
		go l.settle()
	}
}

// state is the input for a snapshot.
type state struct {
	entries    []*entry
	namespaces map[string]policy.Namespace
	first      bool // no snapshot has been published before
}

// begin returns the known state; ok is false if there is nothing to publish, or not yet.
func (l *Reconciler) begin() (s state, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.changes.waiting) > 0 {
		l.reconsider()
	}
	s.first = !l.complete && l.cachesRead && len(l.uncompiled()) == 0
	if s.first {
		l.changes.in("")
	}
	if !s.first && (!l.complete || l.changes.none()) {
		return s, false
	}
	l.changes = changes{applied: l.changes.waiting}
	s.entries, s.namespaces = l.entries(), make(map[string]policy.Namespace, len(l.namespaces.all))
	for name, n := range l.namespaces.all {
		namespace := n.value
		namespace.Quotas = l.quotas.in(name)
		s.namespaces[name] = namespace
	}
	return s, true
}

// end records that a snapshot is in force.
func (l *Reconciler) end(s state, snapshot *policy.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot, l.changes.applied = snapshot, nil
	if s.first {
		l.complete, l.statuses = true, nil
	}
	l.compiling.changed.Send()
}

// publish makes a new snapshot of the known state if anything has changed. The caller holds publishing but not mu, so a
// concurrent check waits only if a change concerns it.
func (l *Reconciler) publish() {
	s, ok := l.begin()
	if !ok || l.ended.Load() {
		return
	}
	before := l.current()
	programs := map[string]*engine.Program{}
	for _, e := range s.entries {
		maps.Copy(programs, e.programs)
	}
	snapshot := l.bind(s)
	asks := asked(s.entries)
	affected := l.declare(s.entries, asks)
	rescoped := before != nil && l.rescope(s.entries, before, snapshot, affected)
	if l.compare(s.entries, before) || rescoped {
		snapshot = l.bind(s)
	}
	programs = l.remember(snapshot, programs)
	l.forgetMarks(s.entries)
	l.noteUnasked(snapshot)
	l.scoped = map[types.UID]*policy.Policy{}
	for _, p := range snapshot.Policies() {
		l.scoped[p.UID] = p
	}
	e := CompiledSnapshot{
		Snapshot: snapshot, Programs: programs, Outdated: outdated(s.entries), Waiting: waiting(s.entries),
		References: l.references, ReferencesSince: l.referencesSince, Asked: asks, InvalidReferences: l.invalidReferences,
	}
	e.QuotasUnread, e.QuotaError = l.needQuotas(slices.ContainsFunc(snapshot.Policies(), byQuota))
	for _, use := range l.Subscribers {
		use(e)
	}
	l.end(s, snapshot)
}

// endStandby ends the snapshots of a standby, before those of the leader begin. It does nothing for nil.
func (l *Reconciler) endStandby() {
	if l == nil || l.ended.Load() {
		return
	}
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.ended.Store(true)
	l.scoped, l.programs, l.past = nil, nil, nil // the leader has its own
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot, l.cluster, l.namespaced = nil, store[*entry]{}, store[*entry]{}
	l.complete = true // so that Reconcile waits no longer
	l.compiling.changed.Send()
}

// republish makes a new snapshot although no change affects which objects are kept. The caller holds publishing.
func (l *Reconciler) republish() {
	l.mu.Lock()
	l.changes.others = true
	l.mu.Unlock()
	l.publish()
}

// bind makes a snapshot of all policies, each with its gate.
func (l *Reconciler) bind(s state) *policy.Snapshot {
	policies := make([]*policy.Policy, len(s.entries))
	for i, e := range s.entries {
		policies[i] = l.gated(e)
	}
	return policy.NewSnapshot(policies, s.namespaces, l.Protection)
}

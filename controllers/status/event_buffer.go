// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	aggregateEvery   = 15 * time.Second // between two Events about one rule
	perObjectAtATick = 50               // Events about single objects in one tick, for all rules; further objects are only part of a sum
)

// deletions is the number of deletions by rule name.
type deletions map[string]int64

// history is what a policy has deleted, without images, by its status or its ledger. The total includes rules that no longer exist.
type history struct {
	total   int64
	rules   deletions
	storage policy.Amount             // without images
	ledger  *v1alpha1.RetentionLedger // as it was when its counts were last added; nil for none
	rebases int                       // as ledgers.State had it then
}

// eventBuffer holds the deletions since Events were last written, and since histories were last updated.
type eventBuffer struct {
	deleted   map[types.UID]*history // by policy; not in its history yet
	aggregate map[policy.RuleID]*sum
	perObject []retention.Removal
}

// sum is the number of deletions by one rule since its last Event.
type sum struct {
	kind         string
	count        int
	withoutEvent int // how many should have an Event of their own, and have none
	since        time.Time
	rule         *policy.Rule
}

// Removed implements retention.Observer.
func (r *Reporter) Removed(removal retention.Removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
	d := &r.eventBuffer
	if d.deleted == nil {
		d.deleted, d.aggregate = map[types.UID]*history{}, map[policy.RuleID]*sum{}
	}
	id, uid := removal.Rule.ID, removal.Rule.PolicyUID
	if d.deleted[uid] == nil {
		d.deleted[uid] = &history{rules: deletions{}}
	}
	latest := d.deleted[uid]
	if !removal.InLedger { // the others come from the ledger
		latest.rules[id.Rule]++
		latest.total++
	}
	latest.storage = latest.storage.Plus(r.Prices.Of(removal.Kind.GroupKind(), removal.Size))
	if d.aggregate[id] == nil {
		d.aggregate[id] = &sum{kind: removal.Kind.Kind, since: removal.At, rule: removal.Rule}
	}
	d.aggregate[id].count++
	switch {
	case removal.Rule.Events != v1alpha1.EventsPerObject:
	case len(d.perObject) < perObjectAtATick:
		d.perObject = append(d.perObject, removal)
	default:
		d.aggregate[id].withoutEvent++
	}
}

// Attempted implements retention.Observer.
func (r *Reporter) Attempted(retention.Result) {}

// Snapshotted implements retention.SnapshotObserver: it writes an Event about the claim.
func (r *Reporter) Snapshotted(n retention.SnapshotNotice) { r.Events.Queue(aboutSnapshot(n)) }

// takeDeleted removes the deletions of a policy from the buffer, and returns them; nil if there are none.
func (r *Reporter) takeDeleted(policy types.UID) *history {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.eventBuffer.deleted[policy]
	delete(r.eventBuffer.deleted, policy)
	return taken
}

// forget drops the deletions of policies that no longer exist.
func (r *Reporter) forget(gone func(types.UID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.eventBuffer.deleted, func(uid types.UID, _ *history) bool { return gone(uid) })
}

// Events writes Events.
type Events interface {
	// Queue queues an Event and does not wait. It returns false, and drops the Event, if too many are queued. Queue sets the
	// name, the time and the reporting controller; the caller sets everything else.
	Queue(e *eventsv1.Event) bool
}

// queueEvents writes due Events. Those about single objects come first, so that a sum includes the objects without an Event.
func (r *Reporter) queueEvents() {
	for _, o := range r.takePerObject() {
		if !r.Events.Queue(aboutObject(o)) {
			r.noteWithoutEvent(o.Rule)
		}
	}
	for _, s := range r.takeSums() {
		if !r.Events.Queue(aboutRule(s, r.Clock.Since(s.since))) {
			r.putBack(s)
		}
	}
}

// aboutRule returns the Event with the number of deletions by one rule.
func aboutRule(s *sum, in time.Duration) *eventsv1.Event {
	note := fmt.Sprintf("rule %s deleted %d %s in %s", s.rule.ID.Rule, s.count, s.kind, in.Round(time.Second))
	if s.withoutEvent > 0 {
		note += fmt.Sprintf("; %d of them have no Event of their own, because there were too many", s.withoutEvent)
	}
	return event(policyReference(s.rule), "Deleted", note)
}

// aboutObject returns the Event about one deleted object.
func aboutObject(o retention.Removal) *eventsv1.Event {
	note := fmt.Sprintf("%s by rule %s, due %s", describeRemoval(o), o.Rule.ID, o.Due.UTC().Format(time.RFC3339))
	if o.Outcome != "" {
		note += ", outcome " + o.Outcome
	}
	return eventAbout(o.Kind, o.Subject, o.Rule, string(o.Reason), note)
}

// aboutSnapshot returns the Event about a claim whose VolumeSnapshot was created, or is slow.
func aboutSnapshot(n retention.SnapshotNotice) *eventsv1.Event {
	reason, note := "SnapshotCreated", fmt.Sprintf("VolumeSnapshot %s created by rule %s; the claim is deleted when it is ready to use", n.Name, n.Rule.ID)
	if n.Slow != nil {
		reason, note = n.Slow.Reason, fmt.Sprintf("not deleted by rule %s for more than %s: %s", n.Rule.ID, duration.HumanDuration(retention.SnapshotSlowAfter), n.Slow.Message)
	}
	e := eventAbout(policy.ClaimKind, n.Subject, n.Rule, reason, note)
	e.Action = "Snapshot"
	if n.Slow != nil {
		e.Type = corev1.EventTypeWarning
	}
	return e
}

// eventAbout returns an Event about one object and the policy of a rule.
func eventAbout(kind schema.GroupVersionKind, s policy.Subject, r *policy.Rule, reason, note string) *eventsv1.Event {
	by := policyReference(r)
	e := event(corev1.ObjectReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion,
	}, reason, note)
	e.Related = &by
	return e
}

// describeRemoval says whether only an object was deleted, or its owner.
func describeRemoval(r retention.Removal) string {
	if r.Owner == nil {
		return "deleted"
	}
	return "deleted with its owner " + r.Owner.String()
}

func event(about corev1.ObjectReference, reason, note string) *eventsv1.Event {
	return &eventsv1.Event{Regarding: about, Type: corev1.EventTypeNormal, Reason: reason, Action: "Delete", Note: note}
}

// noteWithoutEvent records that an object has no Event of its own.
func (r *Reporter) noteWithoutEvent(rule *policy.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.eventBuffer.aggregate[rule.ID]; s != nil {
		s.withoutEvent++
	}
}

// takePerObject removes the objects to report from the buffer, and returns them.
func (r *Reporter) takePerObject() []retention.Removal {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.eventBuffer.perObject
	r.eventBuffer.perObject = nil
	return taken
}

// takeSums removes the rules to report from the buffer, and returns their sums.
func (r *Reporter) takeSums() (sums []*sum) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.eventBuffer.aggregate {
		if r.Clock.Since(s.since) >= aggregateEvery {
			sums = append(sums, s)
			delete(r.eventBuffer.aggregate, id)
		}
	}
	return sums
}

// putBack adds a sum to the buffer again.
func (r *Reporter) putBack(s *sum) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if newer := r.eventBuffer.aggregate[s.rule.ID]; newer != nil {
		s.count, s.withoutEvent = s.count+newer.count, s.withoutEvent+newer.withoutEvent
	}
	r.eventBuffer.aggregate[s.rule.ID] = s
}

func policyReference(r *policy.Rule) corev1.ObjectReference {
	return report.ReferenceTo(&policy.Policy{Namespace: r.Namespace, Name: r.ID.Policy, UID: r.PolicyUID})
}

package report

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	aggregateEvery   = 15 * time.Second // between two Events about one rule
	perObjectAtATick = 50               // Events about single objects in one tick; more are only summed up
)

// deletions counts by rule name.
type deletions map[string]int64

// diary is what happened since Events were last written, and since the process started.
type diary struct {
	deleted   map[types.UID]deletions // by policy
	aggregate map[policy.RuleID]*sum
	perObject []retention.Removal
}

// sum is what one rule deleted since its last Event.
type sum struct {
	kind  string
	count int
	since time.Time
	rule  *policy.Rule
}

// Removed implements retention.Witness.
func (r *Reporter) Removed(removal retention.Removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
	d := &r.told
	if d.deleted == nil {
		d.deleted, d.aggregate = map[types.UID]deletions{}, map[policy.RuleID]*sum{}
	}
	id, uid := removal.Rule.ID, removal.Rule.PolicyUID
	if d.deleted[uid] == nil {
		d.deleted[uid] = deletions{}
	}
	d.deleted[uid][id.Rule]++
	if d.aggregate[id] == nil {
		d.aggregate[id] = &sum{kind: removal.Kind.Kind, since: removal.At, rule: removal.Rule}
	}
	d.aggregate[id].count++
	if removal.Rule.Events == v1alpha1.EventsPerObject && len(d.perObject) < perObjectAtATick {
		d.perObject = append(d.perObject, removal)
	}
}

// Attempted implements retention.Witness.
func (r *Reporter) Attempted(retention.Result) {}

// deletedBy gives a copy of what a policy has deleted since the process started.
func (r *Reporter) deletedBy(policy types.UID) deletions {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := deletions{}
	for rule, n := range r.told.deleted[policy] {
		copied[rule] = n
	}
	return copied
}

// forget drops what is known of policies that are gone.
func (r *Reporter) forget(gone func(types.UID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.told.deleted, func(uid types.UID, _ deletions) bool { return gone(uid) })
}

// tellEvents writes the Events that are due.
func (r *Reporter) tellEvents() {
	sums, perObject := r.takeEvents()
	for _, s := range sums {
		r.Events.Eventf(policyReference(s.rule), nil, corev1.EventTypeNormal, "Deleted", "Delete",
			"rule %s deleted %d %s in %s", s.rule.ID.Rule, s.count, s.kind, r.Clock.Since(s.since).Round(time.Second))
	}
	for _, o := range perObject {
		object := &corev1.ObjectReference{
			APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind,
			Namespace: o.Subject.Namespace, Name: o.Subject.Name, UID: o.Subject.UID, ResourceVersion: o.Subject.ResourceVersion,
		}
		r.Events.Eventf(object, policyReference(o.Rule), corev1.EventTypeNormal, string(o.Reason), "Delete",
			"%s by rule %s, due %s", whatWent(o), o.Rule.ID, o.Due.UTC().Format(time.RFC3339))
	}
}

// whatWent says what of an object was deleted: itself, or its owner.
func whatWent(r retention.Removal) string {
	if r.Owner == nil {
		return "deleted"
	}
	return "deleted with its owner " + r.Owner.String()
}

// takeEvents takes from the diary what is to be told now.
func (r *Reporter) takeEvents() (sums []*sum, perObject []retention.Removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.told.aggregate {
		if r.Clock.Since(s.since) >= aggregateEvery {
			sums = append(sums, s)
			delete(r.told.aggregate, id)
		}
	}
	perObject, r.told.perObject = r.told.perObject, nil
	return sums, perObject
}

func policyReference(r *policy.Rule) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kindOf(r.Namespace).Kind,
		Namespace: r.Namespace, Name: strings.TrimPrefix(r.ID.Policy, r.Namespace+"/"), UID: r.PolicyUID,
	}
}

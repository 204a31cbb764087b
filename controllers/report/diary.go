package report

import (
	"fmt"
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
	deleted   map[string]deletions // by policy name
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
		d.deleted, d.aggregate = map[string]deletions{}, map[policy.RuleID]*sum{}
	}
	id := removal.Rule.ID
	if d.deleted[id.Policy] == nil {
		d.deleted[id.Policy] = deletions{}
	}
	d.deleted[id.Policy][id.Rule]++
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
func (r *Reporter) deletedBy(name string) deletions {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := deletions{}
	for rule, n := range r.told.deleted[name] {
		copied[rule] = n
	}
	return copied
}

// tellEvents writes the Events that are due.
func (r *Reporter) tellEvents() {
	r.mu.Lock()
	book := r.edition.Book
	perObject := r.told.perObject
	r.told.perObject = nil
	var sums []*sum
	for id, s := range r.told.aggregate {
		if r.Clock.Since(s.since) >= aggregateEvery {
			sums = append(sums, s)
			delete(r.told.aggregate, id)
		}
	}
	r.mu.Unlock()
	if book == nil {
		return
	}
	for _, s := range sums {
		note := fmt.Sprintf("rule %s deleted %d %s in %s", s.rule.ID.Rule, s.count, s.kind, r.Clock.Since(s.since).Round(time.Second))
		r.Events.Eventf(policyReference(book, s.rule.ID.Policy), nil, corev1.EventTypeNormal, "Deleted", "Delete", note)
	}
	for _, o := range perObject {
		object := &corev1.ObjectReference{
			APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind,
			Namespace: o.Subject.Namespace, Name: o.Subject.Name, UID: o.Subject.UID, ResourceVersion: o.Subject.ResourceVersion,
		}
		r.Events.Eventf(object, policyReference(book, o.Rule.ID.Policy), corev1.EventTypeNormal, string(o.Reason), "Delete",
			fmt.Sprintf("deleted by rule %s, due %s", o.Rule.ID, o.Due.UTC().Format(time.RFC3339)))
	}
}

func policyReference(book *policy.Book, name string) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.ClusterRetentionPolicyKind.Kind, Name: name,
	}
	for _, p := range book.Policies() {
		if p.Name == name {
			ref.UID = types.UID(p.UID)
		}
	}
	return ref
}

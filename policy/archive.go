// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Archive says where a rule archives what it deletes, and what a record includes. A rule with a nil Archive does not archive. It
// does not change.
type Archive struct {
	To         string             // name of the RetentionArchive
	Dependents []schema.GroupKind // kinds of dependents that garbage collection deletes along, and that the record includes; sorted
	Events     bool               // the record includes the Events about the object
	Logs       *ArchiveLogs       // logs of the containers of Pods: the object, or its dependents; nil: none
	Redact     []string           // paths whose values are not archived: see package archive; sorted
}

// ArchiveLogs says which container logs a record includes.
type ArchiveLogs struct {
	TailBytes int64 // the maximum of each container, from the end of its log
	Required  bool  // a log that cannot be read keeps the object; otherwise the record says why it is missing
}

// Equal reports whether both archive the same to a RetentionArchive of the same name. A record that was made for one is then valid
// for the other.
func (a *Archive) Equal(o *Archive) bool {
	if a == nil || o == nil {
		return a == o
	}
	return a == o || a.To == o.To && a.Events == o.Events && a.Logs.equal(o.Logs) &&
		slices.Equal(a.Dependents, o.Dependents) && slices.Equal(a.Redact, o.Redact)
}

func (l *ArchiveLogs) equal(o *ArchiveLogs) bool { return l == o || l != nil && o != nil && *l == *o }

// Receipt says that a durable, verified record of one version of one target exists. Only what has written the record and has read it
// back may make one. The zero Receipt says nothing.
type Receipt struct {
	Target    Target    // the object of the record
	Rule      RuleID    // in the record, of the Intent for which it was made
	PolicyUID types.UID // in the record, of the policy of Rule
	Archive   *Archive  // the settings of the record: those of Rule
	Segment   string    // name of the object in the bucket that contains the record
	Line      int       // of the record in the segment, from 0
	At        time.Time // from when on its dependents, Events and logs were read
}

// Covers reports whether the record is of exactly this version of a target, and says that this rule deletes it. It must have been made
// with the settings of the rule.
func (r Receipt) Covers(t Target, of *Rule) bool {
	return r.Archive != nil && r.Segment != "" && t.UID != "" && t.ResourceVersion != "" && r.Target.Is(t) && r.Archive.Equal(of.Archive) &&
		r.Rule == of.ID && r.PolicyUID == of.PolicyUID
}

// Clearance permits one request to delete exactly one version of one target: a DeletePermit, with the receipts that its rule needs.
// Only Clear makes one. The zero Clearance permits nothing.
type Clearance struct {
	permit  DeletePermit
	target  Target
	receipt Receipt
	taken   SnapshotReceipt
}

// Clear returns the Clearance to delete a target by a permit. It returns an error if the permit does not name the target. If the rule
// archives, the Receipt must be one of exactly this version and rule in its archive. If the rule makes snapshots, the SnapshotReceipt must cover
// the intent. Other rules need no receipts.
func Clear(w DeletePermit, t Target, r Receipt, s SnapshotReceipt) (Clearance, error) {
	if err := w.Covers(t); err != nil {
		return Clearance{}, err
	}
	if w.Rule().Archive != nil && !r.Covers(t, w.Rule()) {
		return Clearance{}, fmt.Errorf("RetentionArchive %q has no verified record of resourceVersion %s of %s for rule %s", w.Rule().Archive.To, t.ResourceVersion, t, w.Rule().ID)
	}
	if w.Rule().Snapshot != nil && !s.Covers(w.Intent()) {
		return Clearance{}, fmt.Errorf("no VolumeSnapshot of %s is ready to use", t)
	}
	return Clearance{permit: w, target: t, receipt: r, taken: s}, nil
}

// Permit is the permit; not valid for the zero Clearance.
func (c Clearance) Permit() DeletePermit { return c.permit }

// Target is what the request may delete.
func (c Clearance) Target() Target { return c.target }

// Receipt is the receipt of the record; the zero Receipt if the rule does not archive.
func (c Clearance) Receipt() Receipt {
	if !c.permit.Valid() || c.permit.Rule().Archive == nil {
		return Receipt{}
	}
	return c.receipt
}

// Snapshot is the receipt of the VolumeSnapshot; the zero SnapshotReceipt if the rule makes none.
func (c Clearance) Snapshot() SnapshotReceipt {
	if !c.permit.Valid() || c.permit.Rule().Snapshot == nil {
		return SnapshotReceipt{}
	}
	return c.taken
}

// Permits reports whether the Clearance permits the deletion of exactly this version of a target.
func (c Clearance) Permits(t Target) bool {
	return c.permit.Valid() && c.target == t
}

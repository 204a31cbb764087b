// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// loadSnapshot reads the snapshot of a rule. A rule whose snapshot is invalid deletes nothing.
func (r *Rule) loadSnapshot(at report) {
	written := r.Spec.Snapshot
	if written == nil {
		return
	}
	if r.Kind != ClaimKind {
		at("snapshot", "only PersistentVolumeClaims have snapshots", "target apiVersion v1, kind PersistentVolumeClaim, or leave snapshot out")
		return
	}
	if r.Owner {
		at("snapshot", "the rule deletes the owner of a claim", "leave delete.target or snapshot out")
	}
	if r.Spec.StartTime != "" {
		at("snapshot", "the rule has a startTime, so a use of the claim does not start its time to live again", "leave startTime out, so that Sunset marks since when nothing uses the claim")
	}
	s := &ClaimSnapshot{ClassName: written.ClassName}
	if s.ClassName != "" && len(validation.IsDNS1123Subdomain(s.ClassName)) > 0 {
		at("snapshot.className", fmt.Sprintf("%q is not a valid name of a VolumeSnapshotClass", s.ClassName), "use lowercase letters, digits, - and .")
	}
	if written.Retain != "" {
		retain, err := ParseTTL(written.Retain)
		if err != nil {
			at("snapshot.retain", err.Error(), TTLHint(written.Retain))
		}
		if s.Retain = retain; err == nil && retain > 0 && retain < time.Hour {
			at("snapshot.retain", fmt.Sprintf("%s is too short to restore a claim", written.Retain), "use at least 1h, or leave it out to keep each VolumeSnapshot")
		}
	}
	r.Snapshot = s
}

// SnapshotWithoutReferences returns the problem of a rule that makes snapshots and does not ask whether something uses the claim. A
// Pod could then write to it between the snapshot and the deletion. It is known only after the rule is compiled.
func (r *Rule) SnapshotWithoutReferences() (Problem, bool) {
	return Problem{
		Path:    fmt.Sprintf("spec.rules[%d].snapshot", r.Index),
		Message: "the rule does not ask whether something uses the claim, so data that is written after the snapshot could be lost",
		Hint:    "add references.count == 0 to eligible",
	}, r.Snapshot != nil && !r.Relations.Has(AsksReferences)
}

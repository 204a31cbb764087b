// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

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
	s := &ClaimSnapshot{ClassName: written.ClassName}
	if s.ClassName != "" && len(validation.IsDNS1123Subdomain(s.ClassName)) > 0 {
		at("snapshot.className", fmt.Sprintf("%q is not a valid name of a VolumeSnapshotClass", s.ClassName), "use lowercase letters, digits, - and .")
	}
	if written.Retain != "" {
		retain, err := ParseTTL(written.Retain)
		if err != nil {
			at("snapshot.retain", err.Error(), TTLHint(written.Retain))
		}
		s.Retain = retain
	}
	r.Snapshot = s
}

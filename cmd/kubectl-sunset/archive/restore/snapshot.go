// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// snapshotPrefix begins Record.From of a claim that is restored from a VolumeSnapshot.
const snapshotPrefix = "VolumeSnapshot/"

// Snapshot is a VolumeSnapshot that Sunset made of a claim before it deleted the claim.
type Snapshot struct {
	Name    string
	Claim   *unstructured.Unstructured // as it was, with the snapshot as its data source
	Ready   bool                       // ready to use
	TakenAt time.Time                  // zero if the storage system has not said
}

// ReadSnapshot reads a VolumeSnapshot. It returns an error if Sunset did not make it, or the manifest of its claim cannot be read.
func ReadSnapshot(object map[string]any) (*Snapshot, error) {
	var s policy.VolumeSnapshot
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &s); err != nil {
		return nil, err
	}
	claim := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(s.Annotations[v1alpha1.SnapshotClaimAnnotation]), &claim.Object); err != nil {
		return nil, fmt.Errorf("annotation %s of VolumeSnapshot %s/%s: %w", v1alpha1.SnapshotClaimAnnotation, s.Namespace, s.Name, err)
	}
	if claim.GroupVersionKind() != policy.ClaimKind || claim.GetNamespace() != s.Namespace || claim.GetName() != s.Spec.Source.ClaimName {
		return nil, fmt.Errorf("annotation %s of VolumeSnapshot %s/%s is not the manifest of its claim", v1alpha1.SnapshotClaimAnnotation, s.Namespace, s.Name)
	}
	read := &Snapshot{Name: s.Name, Claim: claim, Ready: s.Status.ReadyToUse && s.DeletionTimestamp == nil}
	if t := s.Status.CreationTime; t != nil {
		read.TakenAt = t.Time
	}
	source := map[string]any{"apiGroup": policy.VolumeSnapshotKind.Group, "kind": policy.VolumeSnapshotKind.Kind, "name": s.Name}
	if err := unstructured.SetNestedMap(claim.Object, source, "spec", "dataSource"); err != nil {
		return nil, err
	}
	return read, read.enlarge(s.Status.RestoreSize)
}

// enlarge makes the claim at least as large as the snapshot needs: the volume may have been larger than the claim asked for.
func (s *Snapshot) enlarge(restoreSize string) error {
	needed, err := resource.ParseQuantity(restoreSize)
	if err != nil {
		return nil // the driver has not said
	}
	asked, _, err := unstructured.NestedString(s.Claim.Object, "spec", "resources", "requests", "storage")
	if err != nil {
		return err
	}
	if has, err := resource.ParseQuantity(asked); err == nil && has.Cmp(needed) >= 0 {
		return nil
	}
	return unstructured.SetNestedField(s.Claim.Object, needed.String(), "spec", "resources", "requests", "storage")
}

// Record is the claim, to restore it.
func (s *Snapshot) Record() Record {
	return Record{Archived: s.Claim, From: snapshotPrefix + s.Name, ArchivedAt: s.TakenAt}
}

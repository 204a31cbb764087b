// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// snapshotPrefix begins Record.From of a claim that is restored from a VolumeSnapshot.
const snapshotPrefix = "VolumeSnapshot/"

// Snapshot is a VolumeSnapshot that Sunset made of a claim before it deleted the claim.
type Snapshot struct {
	Name    string
	Claim   *unstructured.Unstructured // as it was, with the snapshot as its data source
	Unready string                     // why it is not ready to use; empty if it is
	TakenAt time.Time                  // zero if the storage system has not said
}

// ReadSnapshot reads a VolumeSnapshot. It returns an error if Sunset did not make it, or the manifest of its claim cannot be read. Users
// can change the manifest, so ReadSnapshot takes only the fields from it that Sunset writes.
func ReadSnapshot(object map[string]any) (*Snapshot, error) {
	var s policy.VolumeSnapshot
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &s); err != nil {
		return nil, fmt.Errorf("VolumeSnapshot %s: %w", (&unstructured.Unstructured{Object: object}).GetName(), err)
	}
	claim := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(s.Annotations[v1alpha1.SnapshotClaimAnnotation]), &claim.Object); err != nil {
		return nil, fmt.Errorf("annotation %s of VolumeSnapshot %s/%s: %w", v1alpha1.SnapshotClaimAnnotation, s.Namespace, s.Name, err)
	}
	if claim.GroupVersionKind() != policy.ClaimKind || claim.GetNamespace() != s.Namespace || claim.GetName() != s.Spec.Source.ClaimName {
		return nil, fmt.Errorf("annotation %s of VolumeSnapshot %s/%s is not the manifest of its claim", v1alpha1.SnapshotClaimAnnotation, s.Namespace, s.Name)
	}
	claim.Object = policy.ClaimManifest(claim.Object)
	read := &Snapshot{Name: s.Name, Claim: claim, Unready: unready(&s)}
	if t := s.Status.CreationTime; t != nil {
		read.TakenAt = t.Time
	}
	source := map[string]any{"apiGroup": policy.VolumeSnapshotKind.Group, "kind": policy.VolumeSnapshotKind.Kind, "name": s.Name}
	if err := unstructured.SetNestedMap(claim.Object, source, "spec", "dataSource"); err != nil {
		return nil, err
	}
	return read, read.enlarge(s.Status.RestoreSize)
}

// unready returns why a VolumeSnapshot is not ready to use; empty if it is.
func unready(s *policy.VolumeSnapshot) string {
	switch {
	case s.DeletionTimestamp != nil:
		return "it is being deleted"
	case s.Status.ReadyToUse:
		return ""
	case s.Status.Error != nil && s.Status.Error.Message != "":
		return "it is not ready to use: " + s.Status.Error.Message
	default:
		return "it is not ready to use"
	}
}

// Chooser chooses the VolumeSnapshot to restore a claim from: the newest that is ready to use.
type Chooser struct {
	Claim string // its name
	From  string // the name of the only VolumeSnapshot to consider; empty for all

	chosen   *Snapshot
	unusable []string // messages about VolumeSnapshots that cannot be used
}

// Add considers a VolumeSnapshot of the namespace of the claim.
func (c *Chooser) Add(object map[string]any) {
	var s policy.VolumeSnapshot
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object, &s) // ReadSnapshot returns the error
	isOfClaim := s.Spec.Source.ClaimName == c.Claim
	if c.From != "" && s.Name != c.From || c.From == "" && !isOfClaim {
		return
	}
	read, err := ReadSnapshot(object)
	switch {
	case err != nil:
		c.unusable = append(c.unusable, err.Error())
	case !isOfClaim:
		c.refuse(s.Name, "it is of PersistentVolumeClaim "+s.Spec.Source.ClaimName)
	case read.Unready != "":
		c.refuse(s.Name, read.Unready)
	case c.chosen == nil || read.TakenAt.After(c.chosen.TakenAt):
		c.chosen = read
	}
}

func (c *Chooser) refuse(name, why string) {
	c.unusable = append(c.unusable, fmt.Sprintf("VolumeSnapshot %s: %s", name, why))
}

// Chosen returns the VolumeSnapshot; nil if none can be used. Then unusable says why, for each that was considered.
func (c *Chooser) Chosen() (chosen *Snapshot, unusable []string) {
	slices.Sort(c.unusable)
	return c.chosen, c.unusable
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

// snapshot is the VolumeSnapshot of a claim from an archive.
func (s *Step) snapshot() audit.Object {
	version, kind := policy.VolumeSnapshotKind.ToAPIVersionAndKind()
	return audit.Object{APIVersion: version, Kind: kind, Namespace: s.Name.Namespace, Name: s.Snapshot}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ClaimKind and VolumeSnapshotKind are the kinds of claims and of their snapshots.
var (
	ClaimKind          = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	VolumeSnapshotKind = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"}
)

// ClaimSnapshot says that a rule deletes a PersistentVolumeClaim only after a VolumeSnapshot of it is ready to use. A rule with a
// nil ClaimSnapshot makes no snapshots. It does not change.
type ClaimSnapshot struct {
	ClassName string        // of the VolumeSnapshotClass; empty for the default class of the driver
	Retain    time.Duration // time from the creation until a rule may delete the VolumeSnapshot; 0 for no such time
}

// Equal reports whether both make the same snapshots.
func (s *ClaimSnapshot) Equal(o *ClaimSnapshot) bool {
	return s == o || s != nil && o != nil && *s == *o
}

// SnapshotReceipt says that a VolumeSnapshot of one claim is ready to use. Only what has read it from the API server may make one.
// The zero SnapshotReceipt says nothing.
type SnapshotReceipt struct {
	Claim   types.UID // of the claim
	Name    string    // of the VolumeSnapshot, in the namespace of the claim
	Created time.Time // when the storage system took the snapshot
}

// Covers reports whether the snapshot is of the claim of an intent, and was taken since this process has seen that the claim is due.
// An earlier one may lack data: a Pod may have used the claim while no process looked.
func (r SnapshotReceipt) Covers(i Intent) bool {
	return r.Name != "" && r.Name == i.SnapshotName() && r.Claim != "" && r.Claim == i.Subject.UID &&
		!i.Observed.IsZero() && !r.Created.IsZero() && !r.Created.Before(i.takenFrom())
}

// takenFrom is the earliest time at which the storage system may have taken the snapshot, by its own clock, which may be five seconds
// behind, like that of the API server. The name of the VolumeSnapshot has the exact time, so none was made before. Its creationTime
// has whole seconds.
func (i Intent) takenFrom() time.Time {
	return Latest(i.Start, i.Observed).Truncate(time.Second).Add(-5 * time.Second)
}

// SnapshotName is the name of the VolumeSnapshot that the deletion needs; empty if the rule makes none. It has the UID of the claim
// and since when the process has seen that the claim is due, so each process takes its own.
func (i Intent) SnapshotName() string {
	if i.Rule == nil || i.Rule.Snapshot == nil {
		return ""
	}
	return fmt.Sprintf("sunset-%s-%s", i.Subject.UID, strconv.FormatInt(Latest(i.Start, i.Observed).UnixMilli(), 36))
}

// VolumeSnapshot has the fields of a VolumeSnapshot that Sunset reads and writes.
type VolumeSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              VolumeSnapshotSpec   `json:"spec"`
	Status            VolumeSnapshotStatus `json:"status,omitzero"`
}

// VolumeSnapshotSpec is the spec of a VolumeSnapshot.
type VolumeSnapshotSpec struct {
	Source struct {
		ClaimName string `json:"persistentVolumeClaimName,omitempty"`
	} `json:"source"`
	ClassName string `json:"volumeSnapshotClassName,omitempty"`
}

// VolumeSnapshotStatus is the status of a VolumeSnapshot.
type VolumeSnapshotStatus struct {
	Content      string       `json:"boundVolumeSnapshotContentName,omitempty"`
	CreationTime *metav1.Time `json:"creationTime,omitempty"`
	ReadyToUse   bool         `json:"readyToUse,omitempty"`
	RestoreSize  string       `json:"restoreSize,omitempty"`
	Error        *struct {
		Message string `json:"message,omitempty"`
	} `json:"error,omitempty"`
}

// NewVolumeSnapshot is the VolumeSnapshot that a deletion needs. The manifest is that of the claim, for a restore.
func NewVolumeSnapshot(i Intent, manifest string, now time.Time) *VolumeSnapshot {
	annotations := map[string]string{
		v1alpha1.SnapshotClaimAnnotation:  manifest,
		v1alpha1.SnapshotPolicyAnnotation: i.Rule.ID.Policy,
		v1alpha1.SnapshotRuleAnnotation:   i.Rule.ID.Rule,
	}
	if retain := i.Rule.Snapshot.Retain; retain > 0 {
		annotations[v1alpha1.DeleteAfterAnnotation] = addTime(now, retain).UTC().Format(time.RFC3339)
	}
	s := &VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: i.Subject.Namespace, Name: i.SnapshotName(), Annotations: annotations,
		Labels: map[string]string{v1alpha1.ClaimUIDLabel: string(i.Subject.UID)},
	}}
	s.APIVersion, s.Kind = VolumeSnapshotKind.ToAPIVersionAndKind()
	s.Spec.Source.ClaimName, s.Spec.ClassName = i.Subject.Name, i.Rule.Snapshot.ClassName
	return s
}

// The errors of Receipt.
var (
	// ErrSnapshotPending: the snapshot is being taken.
	ErrSnapshotPending = errors.New("is not ready to use yet")
	// ErrSnapshotFailed: the snapshot cannot be used.
	ErrSnapshotFailed = errors.New("cannot be used")
)

// Receipt returns the receipt for an intent. The error wraps ErrSnapshotPending or ErrSnapshotFailed, and says why the deletion
// must not rely on the snapshot.
//
// The source of a VolumeSnapshot is the name of a claim. It cannot change, and a snapshot that was taken since the claim was seen
// to be due is of the claim that had the name then.
func (s *VolumeSnapshot) Receipt(i Intent, now time.Time) (SnapshotReceipt, error) {
	r := SnapshotReceipt{Claim: types.UID(s.Labels[v1alpha1.ClaimUIDLabel]), Name: s.Name}
	if t := s.Status.CreationTime; t != nil {
		r.Created = t.Time
	}
	fails := func(why, next string) (SnapshotReceipt, error) {
		return SnapshotReceipt{}, fmt.Errorf("VolumeSnapshot %s/%s %w: %s; %s", s.Namespace, s.Name, ErrSnapshotFailed, why, next)
	}
	const again = "delete it, and Sunset creates another one"
	switch {
	case s.DeletionTimestamp != nil:
		return fails("it is being deleted", "Sunset creates another one later")
	case s.Name != i.SnapshotName() || s.Namespace != i.Subject.Namespace, r.Claim != i.Subject.UID, s.Spec.Source.ClaimName != i.Subject.Name:
		return fails("it is not a snapshot of this PersistentVolumeClaim", again)
	case i.Rule.Snapshot.ClassName != "" && s.Spec.ClassName != i.Rule.Snapshot.ClassName:
		return fails("its VolumeSnapshotClass is not "+i.Rule.Snapshot.ClassName, again)
	case !s.hasManifest(i.Subject.UID):
		return fails("annotation "+v1alpha1.SnapshotClaimAnnotation+" does not have the claim, which a restore needs", again)
	case s.leavesEarly(i):
		return fails("the time in annotation "+v1alpha1.DeleteAfterAnnotation+" is before the end of snapshot.retain", again)
	case s.expired(now):
		return fails("the time in annotation "+v1alpha1.DeleteAfterAnnotation+" has passed or cannot be read", again)
	case s.Status.Error != nil:
		return fails(s.Status.Error.Message, "check the VolumeSnapshotClass and the CSI driver")
	case !s.Status.ReadyToUse || s.Status.Content == "" || r.Created.IsZero():
		return SnapshotReceipt{}, fmt.Errorf("VolumeSnapshot %s/%s %w", s.Namespace, s.Name, ErrSnapshotPending)
	case !r.Covers(i):
		return fails("it was taken before "+i.takenFrom().UTC().Format(time.RFC3339)+", when Sunset saw that the claim is due", again)
	}
	return r, nil
}

// hasManifest reports whether the VolumeSnapshot has what a restore needs of a claim.
func (s *VolumeSnapshot) hasManifest(claim types.UID) bool {
	var manifest struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	err := json.Unmarshal([]byte(s.Annotations[v1alpha1.SnapshotClaimAnnotation]), &manifest)
	return err == nil && manifest.Metadata.UID == claim
}

// leavesEarly reports whether a rule may delete the VolumeSnapshot before the end of retain.
func (s *VolumeSnapshot) leavesEarly(i Intent) bool {
	at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.DeleteAfterAnnotation])
	return err == nil && at.Before(addTime(i.takenFrom(), i.Rule.Snapshot.Retain))
}

// expired reports whether a rule may delete the VolumeSnapshot now. A time that cannot be read counts as passed.
func (s *VolumeSnapshot) expired(now time.Time) bool {
	text, ok := s.Annotations[v1alpha1.DeleteAfterAnnotation]
	at, err := time.Parse(time.RFC3339, text)
	return ok && (err != nil || !now.Before(at))
}

// ClaimManifest is what a restore needs of a claim: its labels, annotations and spec, without what binds it to its volume.
func ClaimManifest(claim map[string]any) map[string]any {
	metadata, _ := claim["metadata"].(map[string]any)
	spec, _ := claim["spec"].(map[string]any)
	kept := only(metadata, "name", "namespace", "uid", "labels")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		for _, name := range unneeded {
			delete(annotations, name)
		}
		if len(annotations) > 0 {
			kept["annotations"] = annotations
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": ClaimKind.Kind, "metadata": kept,
		"spec": only(spec, "accessModes", "resources", "storageClassName", "volumeMode", "volumeAttributesClassName")}
}

// unneeded are the annotations of a claim that say nothing about a restored one.
var unneeded = []string{
	v1alpha1.LastAppliedAnnotation, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
	"volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
	v1alpha1.EligibleSinceAnnotation,
}

func only(object map[string]any, names ...string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		if value, ok := object[name]; ok {
			kept[name] = value
		}
	}
	return kept
}

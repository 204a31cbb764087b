// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// claimSettings says what happens to the data of a claim when a rule deletes it: first the snapshot, if the rule makes one.
func (in *Input) claimSettings(r policy.Evaluation) (all []Setting) {
	s := in.Subject
	if policy.StoredAs(r.Rule.Kind) != policy.ClaimKind.GroupKind() || !r.Facts.Eligible || r.Facts.Err != nil {
		return nil
	}
	if r.Rule.Snapshot != nil {
		all = append(all, Setting{Name: "snapshot", Value: "when it is due", From: theRule,
			Note: fmt.Sprintf("Sunset makes a VolumeSnapshot then, and deletes the claim when it is ready to use: kubectl get volumesnapshots -n %s -l %s=%s", s.Namespace, v1alpha1.ClaimUIDLabel, s.UID)})
	}
	volume, _, _ := unstructured.NestedString(in.Object, "spec", "volumeName")
	if volume == "" {
		return all
	}
	return append(all, Setting{Name: "data", Value: "PersistentVolume/" + volume, Note: in.dataOf(volume)})
}

// eitherPolicy says what happens to the data of a volume whose reclaim policy is not known.
const eitherPolicy = "if its persistentVolumeReclaimPolicy is Delete, the data of the volume is deleted with the claim; if it is Retain, the volume stays"

// dataOf says what happens to the data of a volume when its claim is deleted.
func (in *Input) dataOf(volume string) string {
	if in.FindVolume == nil {
		return eitherPolicy
	}
	object, err := in.FindVolume(volume)
	switch {
	case err != nil:
		return fmt.Sprintf("cannot read it: %v; %s", err, eitherPolicy)
	case object == nil:
		return "it does not exist, so the claim has no data"
	}
	uid, _, _ := unstructured.NestedString(object, "spec", "claimRef", "uid")
	switch uid {
	case string(in.Subject.UID):
	case "": // perhaps reserved for a claim with this name, and not bound yet
		return eitherPolicy
	default:
		return "it is not bound to this claim, so it stays"
	}
	reclaim, _, _ := unstructured.NestedString(object, "spec", "persistentVolumeReclaimPolicy")
	switch reclaim {
	case "Retain":
		return "its persistentVolumeReclaimPolicy is Retain: the volume and its data stay after the claim is deleted"
	case "Delete", "Recycle":
		return "its persistentVolumeReclaimPolicy is " + reclaim + ": the data of the volume is deleted with the claim"
	default:
		return eitherPolicy
	}
}

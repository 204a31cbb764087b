// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// claimSettings says what happens to the data of a claim when a rule deletes it: first the snapshot, if the rule makes one.
func claimSettings(object map[string]any, s policy.Subject, r policy.Evaluation) (all []Setting) {
	if policy.StoredAs(r.Rule.Kind) != policy.ClaimKind.GroupKind() || !r.Facts.Eligible || r.Facts.Err != nil {
		return nil
	}
	if r.Rule.Snapshot != nil {
		all = append(all, Setting{Name: "snapshot", Value: "when it is due", From: theRule,
			Note: fmt.Sprintf("Sunset makes a VolumeSnapshot then, and deletes the claim when it is ready to use: kubectl get volumesnapshots -n %s -l %s=%s", s.Namespace, v1alpha1.ClaimUIDLabel, s.UID)})
	}
	volume, _, _ := unstructured.NestedString(object, "spec", "volumeName")
	if volume == "" {
		return all
	}
	return append(all, Setting{Name: "data", Value: fmt.Sprintf("PersistentVolume/%s", volume),
		Note: "if its persistentVolumeReclaimPolicy is Delete, the data of the volume is deleted with the claim; if it is Retain, the volume stays"})
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// accountSetting names the ServiceAccount whose permissions a rule of a RetentionPolicy needs.
func (in *Input) accountSetting(r *policy.Rule) []Setting {
	if r.ServiceAccount == "" {
		return nil
	}
	permissions := Setting{Name: "permissions", Value: "of " + accountOf(r), From: "the policy", Note: "not checked here"}
	if c := in.permitted(r); c != nil {
		permissions.Note = "status says: " + c.Message
	}
	return []Setting{permissions}
}

// permissionBlocks returns a block if the ServiceAccount of the rule's policy lacks a permission.
func (in *Input) permissionBlocks(r *policy.Rule) []Block {
	c := in.permitted(r)
	if r.ServiceAccount == "" || c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return []Block{{policy.IsForbidden, c.Message, "grant " + accountOf(r) + " the missing permission"}}
}

func (in *Input) permitted(r *policy.Rule) *metav1.Condition {
	return meta.FindStatusCondition(in.Status[r.ID.Policy].Conditions, v1alpha1.ConditionPermitted)
}

func accountOf(r *policy.Rule) string {
	return "ServiceAccount " + r.Namespace + "/" + r.ServiceAccount
}

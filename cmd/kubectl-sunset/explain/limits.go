// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// recreatedBlocks returns a block for a due object that is kept because objects of its name were re-created each time. Only the
// controller knows the names. The status of the policy has their number, and some of them.
func (in *Input) recreatedBlocks(r *policy.Rule) []Block {
	c := meta.FindStatusCondition(in.Status[r.ID.Policy].Conditions, v1alpha1.ConditionRecreated)
	if in.Verdict.Action != policy.Delete || in.Verdict.Rule != r.ID || c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	is, name := "may be", strings.TrimPrefix(in.Subject.Namespace+"/"+in.Subject.Name, "/")
	if slices.ContainsFunc(strings.Fields(c.Message), func(word string) bool { return strings.TrimRight(word, ",:;") == name }) {
		is = "is"
	}
	return []Block{{policy.KeptRecreated, "policy " + r.ID.Policy + ": " + c.Message + "; this object " + is + " one of them",
		"stop the controller that re-creates it, then delete the object by hand; or change " + r.ID.String() + ", then Sunset retries"}}
}

// archiveBlocks returns a block for a due object that is kept because its record cannot be written to the archive of the rule. The
// status of the policy says so; if it says so only of some objects, this may be one of them.
func (in *Input) archiveBlocks(r *policy.Rule) []Block {
	if r.Archive == nil || in.Verdict.Action != policy.Delete || in.Verdict.Rule != r.ID {
		return nil
	}
	remedy := fmt.Sprintf("RetentionArchive %s can be written; its conditions name the cause", r.Archive.To)
	for _, name := range []string{v1alpha1.ConditionArchiving, v1alpha1.ConditionDelayed} {
		c := meta.FindStatusCondition(in.Status[r.ID.Policy].Conditions, name)
		if c != nil && (c.Reason == archiveUnavailable || strings.Contains(c.Message, archiveUnavailable)) {
			return []Block{{archiveUnavailable, "policy " + r.ID.Policy + ": " + c.Message, remedy}}
		}
	}
	return nil
}

// snapshotBlocks returns a block for a due claim that may be kept because its VolumeSnapshot is not ready. Only the controller reads
// it; the status of the policy says whether some claims wait.
func (in *Input) snapshotBlocks(r *policy.Rule) []Block {
	c := meta.FindStatusCondition(in.Status[r.ID.Policy].Conditions, v1alpha1.ConditionDelayed)
	if r.Snapshot == nil || in.Verdict.Action != policy.Delete || in.Verdict.Rule != r.ID || c == nil {
		return nil
	}
	for _, reason := range []policy.Reason{"SnapshotPending", "SnapshotFailed", "SnapshotUnavailable"} {
		if c.Reason == string(reason) || strings.Contains(c.Message, string(reason)) {
			return []Block{{reason, "policy " + r.ID.Policy + ": " + c.Message, "the VolumeSnapshot of the claim is ready to use"}}
		}
	}
	return nil
}

// archiveUnavailable is the reason of the conditions while objects cannot be archived.
const archiveUnavailable = "ArchiveUnavailable"

// ledgerBlocks returns a block for a due object whose deletion cannot be recorded: limits are reached, or the ledger has an
// error. The status of the policy says so.
func (in *Input) ledgerBlocks(r *policy.Rule) []Block {
	c := meta.FindStatusCondition(in.Status[r.ID.Policy].Conditions, v1alpha1.ConditionEnforcing)
	if !r.Ledger || in.Verdict.Action != policy.Delete || in.Verdict.Rule != r.ID || c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	name := "policy " + r.ID.Policy
	switch {
	case c.Reason == string(policy.IsLimited):
		return []Block{{policy.IsLimited, "limits of " + name + ": " + c.Message, "raise limits in " + name}}
	case strings.HasPrefix(c.Reason, "Ledger"):
		return []Block{{policy.Reason(c.Reason), name + ": " + c.Message, "Sunset can write to the ledger"}}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// conditionCause is the cause of one condition of the report: an error, and a reason for machines.
type conditionCause struct {
	condition, reason string
	err               error // nil if the condition is True
}

// conditionCauses returns the causes of all conditions, in the order in which to fix them.
func (r *reporter) conditionCauses() []conditionCause {
	runtime, pods := r.node.LastError(), error(nil)
	if errors.Is(runtime, images.ErrPods) {
		runtime, pods = nil, runtime
	}
	state := r.history.SaveError()
	if state == nil {
		state = r.history.AgesReset()
	}
	return []conditionCause{
		{v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable", runtime},
		{v1alpha1.ConditionPodsKnown, "PodsUnknown", pods},
		{v1alpha1.ConditionRulesKnown, "RulesUnknown", r.rules.ConfirmError()},
		{v1alpha1.ConditionStateKept, "StateNotKept", state},
		{v1alpha1.ConditionFilesystemSeen, "FilesystemUnseen", r.unseen()},
	}
}

// unseen returns why thresholds have no effect; nil if they do, or if no rule reads the disk usage.
func (r *reporter) unseen() error {
	if !r.rules.ReadSpace() {
		return nil
	}
	if _, err := r.disk.usage(); err != nil {
		return fmt.Errorf("disk usage is unknown, so thresholds have no effect: %w", err)
	}
	return nil
}

// setConditions sets the conditions, and Ready to the first error.
func setConditions(conditions *[]metav1.Condition, all []conditionCause, now time.Time) {
	ready := conditionCause{condition: v1alpha1.ConditionReady}
	for _, s := range all {
		setCondition(conditions, s, now)
		if ready.err == nil && s.err != nil {
			ready.reason, ready.err = s.reason, s.err
		}
	}
	setCondition(conditions, ready, now)
}

func setCondition(conditions *[]metav1.Condition, s conditionCause, now time.Time) {
	c := metav1.Condition{Type: s.condition, Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: metav1.Time{Time: now}}
	if s.err != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, s.reason, policy.Shorten(s.err.Error(), policy.MaxConditionMessage)
	}
	meta.SetStatusCondition(conditions, c)
}

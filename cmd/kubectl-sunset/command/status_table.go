package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// policyStatus is a policy with the status from the controller.
type policyStatus struct {
	Kind, Namespace, Name string
	Generation            int64
	Mode                  string // empty means DryRun
	Status                v1alpha1.RetentionPolicyStatus
}

// writeStatuses writes a table of policies, and below it the conditions that stop deletions. It reports whether there are any.
func writeStatuses(w io.Writer, policies []policyStatus) (found bool, err error) {
	if len(policies) == 0 {
		_, err := fmt.Fprintln(w, "No policies found.")
		return false, err
	}
	header := []string{"NAMESPACE", "NAME", "MODE", "READY", ">MATCHED", ">DUE", ">BLOCKED", ">ERRORS", ">DELETED"}
	err = preview.WriteColumns(w, header, len(policies), func(i int) []string {
		p := &policies[i]
		s := &p.Status
		cells := []string{cmp.Or(p.Namespace, "-"), p.Name, cmp.Or(p.Mode, string(v1alpha1.DryRun)), p.ready()}
		for _, n := range []int64{s.Matched, s.Due.Now, s.Blocked, s.Errors, s.Deleted} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		return cells
	})
	if err != nil {
		return false, err
	}
	for i := range policies {
		p := &policies[i]
		for _, c := range p.problems() {
			if !found {
				fmt.Fprintln(w, "\nCauses that stop deletions:")
				found = true
			}
			name := p.Name
			if p.Namespace != "" {
				name = p.Namespace + "/" + name
			}
			what := c.Reason
			if c.Type == v1alpha1.ConditionBlocked || c.Type == v1alpha1.ConditionDelayed {
				what = c.Type
			}
			for _, line := range explain.Wrap(fmt.Sprintf("%s %s: %s: %s", p.Kind, name, what, c.Message), 2, 6) {
				fmt.Fprintln(w, line)
			}
		}
	}
	return found, nil
}

// ready returns the status of condition Ready.
func (p *policyStatus) ready() string {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c == nil || c.Reason == v1alpha1.ReasonPending:
		return "-"
	case p.Status.ObservedGeneration != p.Generation:
		return "Unknown"
	case c.Status == metav1.ConditionTrue:
		return string(c.Status)
	default:
		return string(c.Status) + " (" + c.Reason + ")"
	}
}

// problems returns the conditions that stop deletions. A policy without a status has one.
func (p *policyStatus) problems() []metav1.Condition {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil || ready.Reason == v1alpha1.ReasonPending:
		return []metav1.Condition{{Reason: "NoStatus", Message: "the policy has no status yet; if this persists, check that the controller is running"}}
	case p.Status.ObservedGeneration != p.Generation:
		return []metav1.Condition{{Reason: "OutdatedStatus", Message: "the status is that of an earlier version of the policy; if this persists, check that the controller is running"}}
	}
	return slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c metav1.Condition) bool { return !v1alpha1.StopsDeletions(&c) })
}

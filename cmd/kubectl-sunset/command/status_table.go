package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// PolicyStatusList is the result of status in JSON and YAML. The format is stable.
type PolicyStatusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []PolicyStatus `json:"items"`
}

// PolicyStatus is a policy with the numbers of its status, and the causes that stop its deletions.
type PolicyStatus struct {
	APIVersion string                 `json:"apiVersion"`
	Kind       string                 `json:"kind"`
	Namespace  string                 `json:"namespace,omitempty"`
	Name       string                 `json:"name"`
	Mode       string                 `json:"mode"`
	Ready      metav1.ConditionStatus `json:"ready"`  // of condition Ready; Unknown if the status is missing or outdated
	Reason     string                 `json:"reason"` // of condition Ready; or NoStatus or OutdatedStatus
	Matched    int64                  `json:"matched"`
	Due        v1alpha1.DueCounts     `json:"due"`
	Blocked    int64                  `json:"blocked"`
	Errors     int64                  `json:"errors"`
	Deleted    int64                  `json:"deleted"`
	Causes     []Cause                `json:"causes"`
}

// Cause is a cause that stops deletions of a policy.
type Cause struct {
	Type    string `json:"type,omitempty"` // of the condition; empty if the status is missing or outdated
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// The reasons for which the status of a policy is not known.
const (
	noStatus       = "NoStatus"
	outdatedStatus = "OutdatedStatus"
)

// newPolicyStatus returns the status of a policy.
func newPolicyStatus(object map[string]any) (p PolicyStatus, err error) {
	s, err := statusOf(object)
	u := &unstructured.Unstructured{Object: object}
	mode, _, _ := unstructured.NestedString(object, "spec", "mode")
	p = PolicyStatus{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		Mode: cmp.Or(mode, string(v1alpha1.DryRun)), Ready: metav1.ConditionUnknown,
		Matched: s.Matched, Due: s.Due, Blocked: s.Blocked, Errors: s.Errors, Deleted: s.Deleted, Causes: []Cause{},
	}
	unknown := func(reason, message string) {
		p.Reason = reason
		p.Causes = append(p.Causes, Cause{Reason: reason, Message: message + "; if this persists, check that the controller is running"})
	}
	switch ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); {
	case ready == nil || ready.Reason == v1alpha1.ReasonPending:
		unknown(noStatus, "the policy has no status yet")
	case s.ObservedGeneration != u.GetGeneration():
		unknown(outdatedStatus, "the status is that of an earlier version of the policy")
	default:
		p.Ready, p.Reason = ready.Status, ready.Reason
		for _, c := range s.Conditions {
			if v1alpha1.StopsDeletions(&c) {
				p.Causes = append(p.Causes, Cause{c.Type, c.Reason, c.Message})
			}
		}
	}
	return p, err
}

// write writes a table of policies, and below it the causes that stop deletions. A wide table has more columns.
func (l *PolicyStatusList) write(w io.Writer, wide bool) error {
	if len(l.Items) == 0 {
		_, err := fmt.Fprintln(w, "No policies found.")
		return err
	}
	header := []string{"NAMESPACE", "NAME", "MODE", "READY", ">MATCHED", ">DUE", ">BLOCKED", ">ERRORS", ">DELETED"}
	if wide {
		header = append(header, ">+1H", ">+24H", ">+7D")
	}
	err := preview.WriteColumns(w, header, len(l.Items), func(i int) []string {
		p := &l.Items[i]
		cells := []string{cmp.Or(p.Namespace, "-"), p.Name, p.Mode, p.shownReady()}
		for _, n := range []int64{p.Matched, p.Due.Now, p.Blocked, p.Errors, p.Deleted, p.Due.Hour, p.Due.Day, p.Due.Week} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		return cells[:len(header)]
	})
	if err != nil || !l.hasCauses() {
		return err
	}
	fmt.Fprintln(w, "\nCauses that stop deletions:")
	for i := range l.Items {
		l.Items[i].writeCauses(w)
	}
	return nil
}

// hasCauses reports whether anything stops deletions.
func (l *PolicyStatusList) hasCauses() bool {
	return slices.ContainsFunc(l.Items, func(p PolicyStatus) bool { return len(p.Causes) > 0 })
}

func (p *PolicyStatus) writeCauses(w io.Writer) {
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	for _, c := range p.Causes {
		what := c.Reason
		if c.Type == v1alpha1.ConditionBlocked || c.Type == v1alpha1.ConditionDelayed {
			what = c.Type
		}
		for _, line := range explain.Wrap(fmt.Sprintf("%s %s: %s: %s", p.Kind, name, what, c.Message), 2, 6) {
			fmt.Fprintln(w, line)
		}
	}
}

func (p *PolicyStatus) shownReady() string {
	switch {
	case p.Reason == noStatus:
		return "-"
	case p.Reason == outdatedStatus, p.Ready == metav1.ConditionTrue:
		return string(p.Ready)
	default:
		return string(p.Ready) + " (" + p.Reason + ")"
	}
}

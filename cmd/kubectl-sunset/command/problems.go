// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

const (
	noPolicy     = "no policy and no CustomResourceDefinition"
	noPolicyHint = "check that apiVersion is sunset-k8s.io/v1alpha1, and name files that contain policies"
)

// writeFileProblems writes the parts of files that cannot be read, and the named files and directories that contain nothing to
// validate.
func writeFileProblems(w io.Writer, in *load.Contents) {
	for _, err := range in.Unreadable {
		fmt.Fprintln(w, err)
	}
	for _, name := range in.WithoutPolicy {
		fmt.Fprintf(w, "%s: %s\n    hint: %s\n", name, noPolicy, noPolicyHint)
	}
}

// ValidationReport is the result of validate in JSON and YAML. The format is stable.
type ValidationReport struct {
	metav1.TypeMeta `json:",inline"`
	Files           int           `json:"files"`
	Policies        int           `json:"policies"`
	Digests         int           `json:"digests,omitempty"`
	Archives        int           `json:"archives,omitempty"`
	Version         string        `json:"kubernetesVersion"` // the Kubernetes version whose kinds and fields are known
	Skipped         int           `json:"skipped"`           // number of objects that are not policies
	Problems        []Problem     `json:"problems"`
	Warnings        []Problem     `json:"warnings,omitempty"`
	Missing         []MissingRole `json:"missingPermissions,omitempty"` // only with --rbac
}

// Problem is a problem or warning of a ValidationReport.
type Problem struct {
	File     string `json:"file"`
	Document int    `json:"document,omitempty"` // counts from 1
	Policy   string `json:"policy,omitempty"`
	FileLine int    `json:"fileLine,omitempty"` // counts from 1; other lines and columns are inside of an expression
	policy.Problem
}

func newReport(files int, in *load.Contents, absent []rbac.Missing) *ValidationReport {
	v := &ValidationReport{
		TypeMeta: preview.TypeMeta("ValidationReport"),
		Files:    files, Policies: len(in.Policies), Digests: len(in.Digests), Archives: len(in.Archives), Skipped: in.Others, Problems: []Problem{}, Version: load.KubernetesVersion(),
	}
	for _, err := range in.Unreadable {
		v.Problems = append(v.Problems, Problem{File: err.File, FileLine: err.Line, Problem: policy.Problem{Message: err.Err.Error()}})
	}
	for _, name := range in.WithoutPolicy {
		v.Problems = append(v.Problems, Problem{File: name, Problem: policy.Problem{Message: noPolicy, Hint: noPolicyHint}})
	}
	for _, p := range in.Documents() {
		for _, found := range p.InOrder() {
			v.Problems = append(v.Problems, newProblem(p, found))
		}
		for _, found := range p.Warnings() {
			v.Warnings = append(v.Warnings, newProblem(p, found))
		}
	}
	for _, m := range absent {
		v.Missing = append(v.Missing, MissingRole{Policy: m.Policy, Message: m.String(), Role: m.YAML()})
	}
	return v
}

func newProblem(p load.Policy, found policy.Problem) Problem {
	return Problem{p.File, p.Document, p.Name, p.Line(found), found}
}

// writeSummary writes the numbers of files, policies, problems, warnings, missing roles and skipped objects on one line.
func writeSummary(w io.Writer, files int, in *load.Contents, missing int) {
	style := text.StyleOf(w)
	problems := style.Good("no problems")
	if n := in.Problems(); n > 0 {
		problems = style.Bad(preview.Count(n, "problem"))
	}
	checked := countPolicies(len(in.Policies))
	if n := len(in.Digests); n > 0 {
		checked += " and " + preview.Count(n, "digest")
	}
	if n := len(in.Archives); n > 0 {
		checked += " and " + preview.Count(n, "archive")
	}
	fmt.Fprintf(w, "%s in %s: %s", checked, preview.Count(files, "file"), problems)
	if n := in.Warnings(); n > 0 {
		fmt.Fprintf(w, "; %s", style.Warning(preview.Count(n, "warning")))
	}
	if missing > 0 {
		fmt.Fprintf(w, "; missing roles: %d", missing)
	}
	if in.Others > 0 {
		fmt.Fprintf(w, "; %s skipped", preview.Count(in.Others, "other object"))
	}
	fmt.Fprintln(w)
}

func countPolicies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

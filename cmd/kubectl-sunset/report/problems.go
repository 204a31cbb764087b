package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/kinds"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// Problems writes every problem of every policy: where, what, the line of the expression with a caret below, a hint.
func Problems(w io.Writer, policies []inventory.Policy) {
	for _, p := range policies {
		for _, problem := range p.InOrder() {
			fmt.Fprint(w, describe(p, problem))
		}
	}
}

const (
	noPolicy     = "no policy and no CustomResourceDefinition"
	noPolicyHint = "check that apiVersion is sunset.x-k8s.io/v1alpha1, and name what holds policies"
)

// NoPolicies writes which of the files and directories that were named have nothing to validate.
func NoPolicies(w io.Writer, names []string) {
	for _, name := range names {
		fmt.Fprintf(w, "%s: %s\n    hint: %s\n", name, noPolicy, noPolicyHint)
	}
}

func describe(p inventory.Policy, problem policy.Problem) string {
	var b strings.Builder
	hint := problem.Hint
	problem.Hint = ""
	where := p.Where()
	if line := p.Line(problem); line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, line)
	}
	fmt.Fprintf(&b, "%s: %s: %s\n", where, orDash(p.Name), problem)
	if snippet := problem.Snippet(); snippet != "" {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(snippet, "\n", "\n  "))
	}
	if hint != "" {
		fmt.Fprintf(&b, "    hint: %s\n", hint)
	}
	return b.String()
}

// validation is the outcome of validate in JSON. The format is stable.
type validation struct {
	Files    int       `json:"files"`
	Policies int       `json:"policies"`
	Version  string    `json:"kubernetesVersion"` // whose kinds and fields are known
	Skipped  int       `json:"skipped"`           // objects that are no policies
	Problems []problem `json:"problems"`
	Warnings []problem `json:"warnings,omitempty"`
	Missing  []missing `json:"missingRights,omitempty"`
}

type problem struct {
	File       string `json:"file"`
	Document   int    `json:"document,omitempty"`
	Policy     string `json:"policy,omitempty"`
	FileLine   int    `json:"fileLine,omitempty"`
	Path       string `json:"path,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Message    string `json:"message"`
	Hint       string `json:"hint,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ValidationJSON writes the problems for programs, and rights that are missing.
func ValidationJSON(w io.Writer, files int, in *inventory.Inventory, lacking []rbac.Missing) error {
	v := validation{Files: files, Policies: len(in.Policies), Skipped: in.Others, Problems: []problem{}, Version: kinds.Version}
	for _, name := range in.Lacking {
		v.Problems = append(v.Problems, problem{File: name, Message: noPolicy, Hint: noPolicyHint})
	}
	for _, p := range in.Policies {
		for _, found := range p.InOrder() {
			v.Problems = append(v.Problems, newProblem(p, found))
		}
		for _, found := range p.Warnings() {
			v.Warnings = append(v.Warnings, newProblem(p, found))
		}
	}
	for _, m := range lacking {
		v.Missing = append(v.Missing, missing{Policy: m.Policy, Message: m.String(), Role: m.YAML()})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func newProblem(p inventory.Policy, found policy.Problem) problem {
	return problem{
		File: p.File, Document: p.Document, Policy: p.Name,
		FileLine: p.Line(found), Path: found.Path, Line: found.Line, Column: found.Column,
		Message: found.Message, Hint: found.Hint, Expression: found.Expression,
	}
}

// Warnings writes what may be a mistake of every policy, and makes none invalid.
func Warnings(w io.Writer, policies []inventory.Policy) {
	checked := false
	for _, p := range policies {
		checked = checked || len(p.Checked) > 0
		for _, warning := range p.Warnings() {
			warning.Message = "warning: " + warning.Message
			fmt.Fprint(w, describe(p, warning))
		}
	}
	if checked {
		fmt.Fprintf(w, "Kinds and fields are those of Kubernetes %s, which this version of Sunset was built with; a newer one may have more.\n", kinds.Version)
	}
}

// ValidationSummary writes what was looked at, in one line, with the number of rights that are missing.
func ValidationSummary(w io.Writer, files int, in *inventory.Inventory, missing int) {
	fmt.Fprintf(w, "%s in %s: %s", policies(len(in.Policies)), count(files, "file"), orNo(in.Problems(), "problem"))
	if n := in.Warnings(); n > 0 {
		fmt.Fprintf(w, "; %s", count(n, "warning"))
	}
	if missing > 0 {
		fmt.Fprintf(w, "; rights are missing: %d", missing)
	}
	if in.Others > 0 {
		fmt.Fprintf(w, "; %s skipped", count(in.Others, "other object"))
	}
	fmt.Fprintln(w)
}

func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

func orNo(n int, noun string) string {
	if n == 0 {
		return "no " + noun + "s"
	}
	return count(n, noun)
}

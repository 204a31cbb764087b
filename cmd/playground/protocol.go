// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// PolicyFile is the name of the file with the policies in a Response.
const PolicyFile = "policy.yaml"

// Request is what the page asks.
type Request struct {
	Policies  string       `json:"policies"`
	Objects   *[]load.Text `json:"objects"` // nil: the objects of the last request that had some
	At        time.Time    `json:"at"`
	AsWritten bool         `json:"asWritten"` // policies in mode DryRun are dry runs; otherwise they are treated as enforced
	Explain   *Object      `json:"explain"`   // the object to explain; nil for none

	AllowKinds []string `json:"allowKinds,omitempty"` // protected kinds that the policies may target, as in --allow-kinds
}

// Object identifies an object of the request.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

func objectOf(object map[string]any) Object {
	kind := preview.KindOf(object)
	return Object{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: preview.NamespaceOf(object), Name: load.NameOf(object)}
}

// Response is the answer. If Error is set, nothing else is.
type Response struct {
	Error    *Problem          `json:"error,omitempty"` // the input cannot be read
	Policies int               `json:"policies"`
	Digests  int               `json:"digests,omitempty"`
	Objects  int               `json:"objects"` // that are neither policies nor digests
	Problems []Problem         `json:"problems,omitempty"`
	Notes    []string          `json:"notes,omitempty"` // possible mistakes
	Preview  *preview.Document `json:"preview,omitempty"`
	Page     *explain.Page     `json:"page,omitempty"` // nil if the object to explain does not exist
}

// Problem is a problem at a place. Its Line and Column are inside of an expression.
type Problem struct {
	File     string `json:"file,omitempty"`
	FileLine int    `json:"fileLine,omitempty"` // counts from 1; 0 if unknown
	Policy   string `json:"policy,omitempty"`
	Warning  bool   `json:"warning,omitempty"`
	policy.Problem
}

// problemsOf returns the problems and warnings of all policies and digests.
func problemsOf(in *load.Contents) (all []Problem) {
	for _, p := range in.Documents() {
		for _, problem := range p.InOrder() {
			all = append(all, Problem{p.File, p.Line(problem), p.Name, false, problem})
		}
		for _, warning := range p.Warnings() {
			all = append(all, Problem{p.File, p.Line(warning), p.Name, true, warning})
		}
	}
	return all
}

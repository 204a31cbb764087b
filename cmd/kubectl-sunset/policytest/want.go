// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// FileName is the name of a test's file.
const FileName = "want.yaml"

// AsWritten is the value of modes that keeps DryRun policies as dry runs. Without it, policies are treated as enforced.
const AsWritten = "asWritten"

// Want is a want.yaml: the files and time of a test, and its expected results.
type Want struct {
	At       time.Time `json:"at"`
	Policies []string  `json:"policies,omitempty"` // files in the same directory; the default is policy.yaml
	Objects  []string  `json:"objects,omitempty"`  // files in the same directory; the default is objects.yaml
	Modes    string    `json:"modes,omitempty"`    // AsWritten, or empty

	AllowKinds []string `json:"allowKinds,omitempty"` // protected kinds that the policies may target, as in --allow-kinds

	Verdicts []preview.Record  `json:"verdicts,omitempty"` // every given field must match; message may be a part
	Errors   []preview.Failure `json:"errors,omitempty"`   // every given field must match; message may be a part
	Problems []string          `json:"problems,omitempty"` // parts of the problems of invalid policies
}

// Parse parses a want.yaml. An unknown field is an error.
func Parse(data []byte) (*Want, error) {
	w := &Want{}
	if err := yaml.UnmarshalStrict(data, w); err != nil {
		return nil, err
	}
	return w, w.check()
}

func (w *Want) check() error {
	if w.At.IsZero() {
		return fmt.Errorf("at is missing; set it to the time of the test, such as 2026-03-01T12:00:00Z")
	}
	if w.Modes != "" && w.Modes != AsWritten {
		return fmt.Errorf("modes is %q; set it to %s, or remove it to treat policies as enforced", w.Modes, AsWritten)
	}
	for _, v := range w.Verdicts {
		if v.Kind == "" || v.Name == "" || v.Action == "" || v.Reason == "" {
			return fmt.Errorf("a verdict needs kind, name, action and reason: %+v", v)
		}
		if v.Cost != "" {
			return fmt.Errorf("the verdict of %s/%s has estimatedMonthlyCost, but tests have no prices; remove it", v.Kind, v.Name)
		}
	}
	if w.Policies == nil {
		w.Policies = []string{"policy.yaml"}
	}
	if w.Objects == nil {
		w.Objects = []string{"objects.yaml"}
	}
	return nil
}

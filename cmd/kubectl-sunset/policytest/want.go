package policytest

import (
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// FileName is what the file of a case is called.
const FileName = "want.yaml"

// AsWritten is the value of modes that lets DryRun policies act as such. Without it policies count as enforced.
const AsWritten = "asWritten"

// Want is a want.yaml: what is to be judged, when, and what is wanted.
type Want struct {
	At       time.Time `json:"at"`
	Policies []string  `json:"policies,omitempty"` // files beside it; policy.yaml unless given
	Objects  []string  `json:"objects,omitempty"`  // files beside it; objects.yaml unless given
	Modes    string    `json:"modes,omitempty"`    // AsWritten, or empty

	Verdicts []preview.Record  `json:"verdicts,omitempty"` // every field given must match; of message a part is enough
	Errors   []preview.Failure `json:"errors,omitempty"`   // likewise
	Problems []string          `json:"problems,omitempty"` // parts of the problems of invalid policies
}

// Parse reads a want.yaml. A field that it does not know is an error.
func Parse(data []byte) (*Want, error) {
	w := &Want{}
	if err := yaml.UnmarshalStrict(data, w); err != nil {
		return nil, err
	}
	return w, w.check()
}

func (w *Want) check() error {
	if w.At.IsZero() {
		return fmt.Errorf("at is missing: the time of the case, such as 2026-03-01T12:00:00Z")
	}
	if w.Modes != "" && w.Modes != AsWritten {
		return fmt.Errorf("modes is %q; write %s, or leave it out to have policies count as enforced", w.Modes, AsWritten)
	}
	for _, v := range w.Verdicts {
		if v.Kind == "" || v.Name == "" || v.Action == "" || v.Reason == "" {
			return fmt.Errorf("a verdict needs kind, name, action and reason, and %+v lacks one", v)
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

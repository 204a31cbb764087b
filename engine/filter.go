// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// Filter is a compiled condition about a record of an archive. It is immutable and safe for concurrent use.
type Filter struct{ program *program }

const recordDoc = "The entry of a record in the index of the archive: record.kind, record.policy, record.outcome and other fields."

// Filter compiles a condition about the variables record and object: the entry of a record in the index of the archive, and
// the archived object. The problems are reported at path. The Filter is nil if there are any.
func (c *Compiler) Filter(text, path string) (*Filter, []policy.Problem) {
	env, err := c.env.Extend(cel.VariableWithDoc(syntax.RecordVariable, cel.DynType, recordDoc))
	if err != nil {
		return nil, []policy.Problem{{Path: path, Message: err.Error()}}
	}
	if strings.TrimSpace(text) == "" {
		return nil, []policy.Problem{{Path: path, Message: "missing", Hint: filtering.example()}}
	}
	program, findings := c.compile(text, filtering, &scope{env: env})
	if program == nil {
		return nil, diagnose.Problems(path, text, findings)
	}
	for _, at := range program.at {
		if at != nil {
			return nil, diagnose.Problems(path, text, []diagnose.Finding{at.onlyIn("rules", "conditions about archives can read only record and object")})
		}
	}
	return &Filter{program}, nil
}

// ReadsObject reports whether the condition reads the archived object. The index of the archive does not contain it.
func (f *Filter) ReadsObject() bool { return !f.program.fields.isEmpty() }

// Matches evaluates a Filter. record has strings, numbers, times and maps of these. object may be nil if the Filter does not
// read it. Matches does not change or keep them.
func (e *Evaluator) Matches(f *Filter, record, object map[string]any) (bool, error) {
	e.input.record = record
	defer func() { e.input.record = nil }()
	return extract(e, &Extractor{program: f.program}, object, filtering, toBool)
}

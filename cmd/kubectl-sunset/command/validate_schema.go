// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/crds/validation"
	"github.com/sunset-k8s/sunset/policy"
)

// validator is made once in a process: that takes 0.1 s.
var validator = sync.OnceValue(validation.New)

// validateSchemas adds problems for what the API server would refuse according to the CustomResourceDefinitions of this version, except
// for fields that have a problem already.
func validateSchemas(ctx context.Context, in *load.Contents) {
	for _, p := range in.Documents() {
		known := slices.Clone(p.Problems)
		for _, refusal := range validator().Validate(ctx, p.Object) {
			if !slices.ContainsFunc(known, func(other policy.Problem) bool { return concernsSameField(other, refusal) }) {
				message := strings.TrimPrefix(cmp.Or(refusal.Detail, refusal.Type.String()), refusal.Field+" in body ")
				p.AddProblems(policy.Problem{Path: refusal.Field, Message: message, Hint: "the API server would refuse the object"})
			}
		}
	}
}

// concernsSameField reports whether the field of a problem is that of the error, a part of it, or contains it. If a field is missing, a
// problem of a field beside it may explain that.
func concernsSameField(problem policy.Problem, err *field.Error) bool {
	long, short := problem.Path, err.Field
	if err.Type == field.ErrorTypeRequired {
		short = short[:max(strings.LastIndex(short, "."), 0)]
	}
	if len(long) < len(short) {
		long, short = short, long
	}
	rest, found := strings.CutPrefix(long, short)
	return found && (rest == "" || short == "" || rest[0] == '.' || rest[0] == '[')
}

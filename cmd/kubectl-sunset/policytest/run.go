// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"context"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// Got holds the actual results of a test.
type Got struct {
	Verdicts []preview.Record
	Errors   []preview.Failure
	Problems []string
}

// Run decides about all objects of the feed at the time of the test. It reads the feed twice. in holds the policies of the
// test's files. Run returns an error if the feed fails.
func (w *Want) Run(ctx context.Context, in preview.Input, feed preview.Feed) (*Got, error) {
	in.At, in.Whole = w.At, true
	if err := in.FindReferred(ctx, feed); err != nil {
		return nil, err
	}
	result, err := preview.New(in).Run(ctx, feed)
	if err != nil {
		return nil, err
	}
	return got(in.Policies, result), nil
}

func got(policies []*policy.Policy, result *preview.Result) *Got {
	g := &Got{Errors: result.Failures}
	for i := range result.Rows {
		g.Verdicts = append(g.Verdicts, result.Rows[i].Record())
	}
	for _, p := range policies {
		g.Problems = append(g.Problems, policy.Lines(p.Problems)...)
	}
	return g
}

package golden

import (
	"context"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifest"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Got is what a case gave.
type Got struct {
	Verdicts []report.Verdict
	Errors   []report.Failure
	Problems []string
}

// Run judges the objects of a case by its policies. The error says that a file cannot be read.
func (c Case) Run(ctx context.Context, compiler *engine.Compiler, protection policy.Protection) (*Got, error) {
	files, err := manifest.Open(c.files(), false, nil)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	loader := inventory.NewLoader(compiler, protection)
	in, err := inventory.Read(files, loader)
	if err != nil {
		return nil, err
	}
	in.Apart(true)
	if c.Want.Modes != AsWritten {
		in.Enforce()
	}
	node, err := in.Node()
	if err != nil {
		return nil, err
	}
	input := preview.Input{
		Compiler:   compiler,
		Policies:   in.Rules(),
		Programs:   loader.Programs,
		Namespaces: in.Namespaces,
		Protection: protection,
		At:         c.Want.At,
		Node:       node,
		Whole:      true,
	}
	if err := input.FindReferred(ctx, preview.FromFiles(files)); err != nil {
		return nil, err
	}
	result, err := preview.New(input).Run(ctx, preview.FromFiles(files))
	if err != nil {
		return nil, err
	}
	return got(in, result), nil
}

func got(in *inventory.Inventory, result *preview.Result) *Got {
	g := &Got{}
	for _, row := range result.Rows {
		g.Verdicts = append(g.Verdicts, report.NewVerdict(row))
	}
	for _, f := range result.Failures {
		g.Errors = append(g.Errors, report.NewFailure(f))
	}
	for _, p := range in.Policies {
		for _, problem := range p.Problems {
			g.Problems = append(g.Problems, problem.String())
		}
	}
	return g
}

package command

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// inForce is the cluster's policies, each in its own mode.
type inForce struct {
	policies []*policy.Policy
	replaced []*policy.Policy // by policies in files
	unknown  bool             // they may not be listed
}

// inForce lists the cluster's policies. Who may not list them can still judge by policies in files, and is told what is
// missing.
func (p *previewing) inForce(ctx context.Context, c *cluster.Cluster, loader *inventory.Loader, files bool) (*inForce, error) {
	objects, err := c.Policies(ctx)
	if files && apierrors.IsForbidden(err) {
		p.note("%v; judged by the policies in files alone, and not compared", err)
		return &inForce{unknown: true}, nil
	}
	if err != nil {
		return nil, err
	}
	force := &inForce{}
	for _, object := range objects {
		force.policies = append(force.policies, loader.Load(object))
	}
	return force, nil
}

// join adds the policies to those of the files, which replace those of the same name.
func (f *inForce) join(in *inventory.Inventory) {
	fromFiles := len(in.Policies)
	for _, p := range f.policies {
		if slices.ContainsFunc(in.Policies[:fromFiles], func(o inventory.Policy) bool { return o.Name == p.Name }) {
			f.replaced = append(f.replaced, p)
		} else {
			in.Policies = append(in.Policies, inventory.Policy{Policy: p})
		}
	}
}

// judgeOf compares with the rules in force where there is something to compare: policies in files, and theirs known. What
// a replaced policy alone is about is compared too, as its rules are gone.
func (p *previewing) judgeOf(input preview.Input, force *inForce) judge {
	if input.Kinds == nil || force.unknown {
		return preview.New(input)
	}
	comparison := preview.NewComparison(input, force.policies, kindsOf(force.replaced))
	for _, reason := range comparison.Uncompared() {
		p.note("%s", reason)
	}
	return comparison
}

// note tells something that is neither an answer nor an error.
func (p *previewing) note(format string, args ...any) {
	fmt.Fprintf(p.streams.ErrOut, "note: "+format+"\n", args...)
}

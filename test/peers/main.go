// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/peers/compare"
)

// controllers are those that a comparison needs: the tools read endpoints. Without the others, the API server keeps each
// object and status as the samples have it.
var controllers = []string{"endpoints-controller", "endpointslice-controller"}

// options are paths of programs; empty means that the tool does not run.
type options struct{ kor, popeye, samples string }

func main() {
	var o options
	flag.StringVar(&o.kor, "kor", "", "path of kor; empty: do not run it")
	flag.StringVar(&o.popeye, "popeye", "", "path of popeye; empty: do not run it")
	flag.StringVar(&o.samples, "samples", "samples", "directory of the samples")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dirs, err := compare.SampleDirs(o.samples)
	if err != nil {
		return err
	}
	s, err := compare.Read(dirs...)
	if err != nil {
		return err
	}
	plane, err := cluster.Start(ctx, cluster.Options{Controllers: controllers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := fill(ctx, plane, s); err != nil {
		return err
	}
	columns, err := o.ask(ctx, plane.Kubeconfig())
	if err != nil {
		return err
	}
	return compare.Write(os.Stdout, s, columns)
}

// fill creates the objects. When the endpoints are known, no controller runs any more, so that each tool finds the same objects.
func fill(ctx context.Context, plane *cluster.Cluster, s *compare.State) error {
	a, err := newApplier(plane.Config())
	if err != nil {
		return err
	}
	if err := a.apply(ctx, s); err != nil {
		return err
	}
	if err := a.endpointsKnown(ctx, s); err != nil {
		return err
	}
	if err := plane.Kill(cluster.ControllerManager); err != nil {
		return err
	}
	return a.applyTokens(ctx, s)
}

// ask runs the tools on the control plane.
func (o options) ask(ctx context.Context, kubeconfig string) (all []compare.Column, err error) {
	home, err := os.MkdirTemp("", "sunset-peers-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	for _, tool := range []struct {
		name, path string
		run        func(ctx context.Context, path, kubeconfig, home string) (compare.Reported, error)
	}{{"kor", o.kor, runKor}, {"kor, no owned objects", o.kor, runKorWithoutOwned}, {"popeye", o.popeye, runPopeye}, {"Sunset", "in this process", runSunset}} {
		if tool.path == "" {
			continue
		}
		found, err := tool.run(ctx, tool.path, kubeconfig, home)
		if err != nil {
			return nil, err
		}
		all = append(all, compare.Column{Tool: tool.name, Found: found})
	}
	return all, nil
}

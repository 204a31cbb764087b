// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// interrupted is the exit code after SIGINT or SIGTERM.
const interrupted = 130

// Main is the body of TestMain for a package whose tests share clusters. It starts one cluster with the same options for
// each pointer, stores them, runs m (a *testing.M) and stops them, also after a panic of m.Run, SIGINT and SIGTERM. It
// returns the code for os.Exit: that of m.Run, or 1 if a cluster did not start or a component ended unexpectedly. If a test
// panics or go test times out, the kernel ends the components with this process (on Linux). Several clusters must not share
// Options.LogDir.
func Main(m interface{ Run() int }, opts Options, clusters ...**Cluster) (code int) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	all, err := startAll(ctx, opts, len(clusters))
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
	for i := range clusters {
		*clusters[i] = all[i]
	}
	noExit := context.AfterFunc(ctx, func() {
		_ = stopAll(all) // ignore errors that the interrupt caused
		os.Exit(interrupted)
	})
	defer func() { // before cancel, which would look like an interrupt
		if !noExit() {
			select {} // interrupted: the exit is under way
		}
	}()
	defer func() {
		if err := stopAll(all); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// startAll starts n clusters, or none if one fails.
func startAll(ctx context.Context, opts Options, n int) ([]*Cluster, error) {
	all := make([]*Cluster, n)
	g, ctx := errgroup.WithContext(ctx)
	for i := range all {
		g.Go(func() (err error) {
			all[i], err = Start(ctx, opts)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, stopAll(all))
	}
	return all, nil
}

func stopAll(all []*Cluster) error {
	var stopped []error
	for _, c := range all {
		if c != nil {
			stopped = append(stopped, c.Stop())
		}
	}
	return errors.Join(stopped...)
}

// SPDX-License-Identifier: Apache-2.0

// Command record simulates the life of a cluster on a separate control plane, runs the real controller, and writes its
// metrics as series in the notation of promtool. The picture in docs is drawn from them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/program"
)

func main() {
	lasts := flag.Duration("for", 12*time.Minute, "how long to record")
	every := flag.Duration("every", 5*time.Second, "interval of the values")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	text, err := record(ctx, *lasts, *every)
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func record(ctx context.Context, lasts, every time.Duration) (text string, err error) {
	plane, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := newLife(ctx, plane)
	if err != nil {
		return "", err
	}
	address, end, err := control(ctx, plane, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := l.apply(ctx, policies); err != nil {
		return "", err
	}
	return tape(ctx, l, "http://"+address+"/metrics", lasts, every)
}

// tape reads the metrics at an interval while the simulation runs.
func tape(ctx context.Context, l *life, url string, lasts, every time.Duration) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lived := make(chan error, 1)
	go func() { lived <- l.live(ctx) }()
	r := newRecording(every)
	began := time.Now()
	for look := 0; look < int(lasts/every); look = max(look+1, int(time.Since(began)/every)) { // a missed interval has no values
		select {
		case err := <-lived:
			return "", errors.Join(err, ctx.Err())
		case <-time.After(time.Until(began.Add(time.Duration(look) * every))):
		}
		if err := r.scrape(ctx, look, url); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err) // metrics are not served yet
		}
	}
	cancel() // the recording is complete
	if err := <-lived; err != nil && !errors.Is(err, context.Canceled) {
		return "", err
	}
	return r.String(), nil
}

// control runs the controller on the control plane, and returns the address of its metrics.
func control(ctx context.Context, plane *cluster.Cluster, dir string) (address string, end func() error, err error) {
	controller, err := program.Build(ctx, dir, "sunset-controller")
	if err != nil {
		return "", nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, plane.Config()); err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", nil, err
	}
	command := exec.Command(controller, "--kubeconfig="+kubeconfig, "--metrics-bind-address="+address, "--health-probe-bind-address=0",
		"--max-deletions-per-second=25")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	return address, func() error {
		_ = command.Process.Signal(syscall.SIGTERM) // an error means that it has ended
		return command.Wait()
	}, nil
}

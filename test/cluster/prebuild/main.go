// SPDX-License-Identifier: Apache-2.0

// Command prebuild builds the control plane's binaries into the cache, so that the first test does not wait for the build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sunset-k8s/sunset/test/cluster"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if _, err := cluster.Binaries(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
}

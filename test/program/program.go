// SPDX-License-Identifier: Apache-2.0

// Package program builds the commands of this module for tests and benchmarks.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sunset-k8s/sunset/test/inputs"
)

// Flags are the flags of go build that make a program as small as in the images.
func Flags() []string { return []string{"-tags=disable_grpc_modules,grpcnotrace", "-ldflags=-s"} }

// Build compiles a command of this module, for example sunset-controller, into a directory. It returns the path of the program. The Go
// build cache keeps programs of go run, so another process that builds the same one does not link it again. The sources of the command are
// inputs of the test that runs.
func Build(ctx context.Context, dir, command string) (string, error) {
	path, pkg := filepath.Join(dir, command), "github.com/sunset-k8s/sunset/cmd/"+command
	if err := inputs.Sources(ctx, pkg); err != nil {
		return "", err
	}
	args := append([]string{"run", "-exec=cp"}, append(Flags(), pkg, path)...)
	build := exec.CommandContext(ctx, "go", args...)
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) }
	build.WaitDelay = 10 * time.Second
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return path, nil
}

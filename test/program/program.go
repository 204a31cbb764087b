// SPDX-License-Identifier: Apache-2.0

// Package program builds the commands of this module for tests and benchmarks.
package program

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Flags are the flags of go build that make a program as small as in the images.
func Flags() []string { return []string{"-tags=disable_grpc_modules", "-ldflags=-s"} }

// Build compiles a command of this module, for example sunset-controller, into a directory. It returns the path of the program.
func Build(ctx context.Context, dir, command string) (string, error) {
	path := filepath.Join(dir, command)
	args := append([]string{"build"}, append(Flags(), "-o", path, "github.com/sunset-k8s/sunset/cmd/"+command)...)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return path, nil
}

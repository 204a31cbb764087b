// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/peers/compare"
)

// runKor runs kor, which reads also its tokens for Slack from the environment: it gets none.
func runKor(ctx context.Context, path, kubeconfig, home string) (compare.Reported, error) {
	out, err := output(ctx, home, path, "all", "--output", "json", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return compare.ParseKor(out)
}

// runKorWithoutOwned runs kor with the flag that skips objects with owners.
func runKorWithoutOwned(ctx context.Context, path, kubeconfig, home string) (compare.Reported, error) {
	out, err := output(ctx, home, path, "all", "--ignore-owner-references", "--output", "json", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return compare.ParseKor(out)
}

// runPopeye runs popeye, which ends with 1 if it finds anything.
func runPopeye(ctx context.Context, path, kubeconfig, home string) (compare.Reported, error) {
	out, err := output(ctx, home, path, "--all-namespaces", "--out", "json", "--force-exit-zero", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return compare.ParsePopeye(out)
}

// output runs a program with a home directory and no other environment.
func output(ctx context.Context, home, path string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, path, args...)
	c.Env = []string{"HOME=" + home, "TMPDIR=" + home, "XDG_CONFIG_HOME=" + home}
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s%s", path, err, out, stderr.Bytes())
	}
	return out, nil
}

// runSunset runs kubectl sunset unused.
func runSunset(ctx context.Context, _, kubeconfig, _ string) (compare.Reported, error) {
	var out, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &stderr}
	if code := command.Run(ctx, []string{"unused", "-o", "json", "--kubeconfig", kubeconfig}, streams, time.Now()); code != command.ExitOK {
		return nil, fmt.Errorf("kubectl sunset unused: exit code %d\n%s%s", code, out.String(), stderr.String())
	}
	return compare.ParseSunset(out.Bytes())
}

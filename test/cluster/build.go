// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/test/filelock"
)

// Paths holds the absolute path of the binary of each component.
type Paths map[Component]string

// Binaries returns the binaries of these components, or of all if none is named. It builds the binaries that the cache does
// not contain, which takes about a quarter of an hour on a new machine with two cores. It writes one line to progress
// before and after each build. Several processes may call it at once: one builds and the others wait. The error of a failed build
// ends with the compiler's last lines.
func Binaries(ctx context.Context, progress io.Writer, components ...Component) (Paths, error) {
	if len(components) == 0 {
		components = slices.Concat(Components(), VolumeComponents(), NodeComponents(), StoreComponents(), []Component{Kubectl})
	}
	paths := Paths{}
	for _, c := range components {
		b, err := newBuilder(recipes[c].home, progress)
		if err != nil {
			return nil, fmt.Errorf("prepare build of %s: %w", c, err)
		}
		if paths[c], err = b.binary(ctx, c); err != nil {
			return nil, fmt.Errorf("build %s: %w", c, err)
		}
	}
	return paths, nil
}

// builder builds from the module in the directory source into the directory cache.
type builder struct {
	source, cache string
	mod           []byte
	flags         []string
	progress      io.Writer
}

func newBuilder(h home, progress io.Writer) (*builder, error) {
	source, err := h.source()
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, err
	}
	flags, err := h.buildFlags(mod)
	if err != nil {
		return nil, err
	}
	root, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	key, err := h.cacheKey(mod, flags)
	if err != nil {
		return nil, err
	}
	b := &builder{source: source, cache: filepath.Join(root, key), mod: mod, flags: flags, progress: progress}
	return b, os.MkdirAll(b.cache, 0o755)
}

// buildFlags returns the flags of go build.
func (h home) buildFlags(mod []byte) ([]string, error) {
	ld := "-s -w"
	if h.stamped {
		stamp, err := versionStamp(mod)
		if err != nil {
			return nil, err
		}
		ld += stamp
	}
	return []string{"-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=" + ld}, nil
}

// versionStamp returns the linker flags that write the version into a binary of Kubernetes. Without them the API server
// reports a version that clients cannot parse.
func versionStamp(mod []byte) (flags string, err error) {
	version, err := requiredVersion(mod, recipes[APIServer].module)
	if err != nil {
		return "", err
	}
	number := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(number) < 3 {
		return "", fmt.Errorf("version %q is not major.minor.patch", version)
	}
	for _, kv := range []string{
		"gitVersion=" + version, "gitMajor=" + number[0], "gitMinor=" + number[1],
		"gitTreeState=archive", "buildDate=1970-01-01T00:00:00Z",
	} {
		flags += " -X k8s.io/component-base/version." + kv
	}
	return flags, nil
}

// binary returns the path of c, and builds c if necessary.
func (b *builder) binary(ctx context.Context, c Component) (string, error) {
	path := filepath.Join(b.cache, string(c))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, b.buildLocked(ctx, c, path)
}

func (b *builder) buildLocked(ctx context.Context, c Component, path string) error {
	held, err := filelock.Wait(ctx, path+".lock", func() {
		fmt.Fprintf(b.progress, "waiting for another process that is building %s ...\n", c)
	})
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if _, err := os.Stat(path); err == nil {
		return nil // another process has built it
	}
	version, err := requiredVersion(b.mod, recipes[c].module)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "building %s %s from the Go module proxy (once per machine, about %s) ...\n",
		c, version, recipes[c].cold)
	start := time.Now()
	if err := b.build(ctx, c, path); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "built %s in %s\n", c, time.Since(start).Round(time.Second))
	return nil
}

// build compiles to a temporary file and renames it, so that path is never an incomplete binary.
func (b *builder) build(ctx context.Context, c Component, path string) error {
	temp := path + ".new"
	defer func() { _ = os.Remove(temp) }()
	args := append([]string{"build", "-o", temp}, b.flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, recipes[c].pkg)...)
	cmd.Dir = b.source
	cmd.Env = buildEnv(os.Environ())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = diesWithParent()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := spawn(cmd.Start); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, lastLines(out.Bytes()))
	}
	return os.Rename(temp, path)
}

// buildEnv removes variables that would change the result: flags, workspaces and targets for another module. GOFLAGS must
// not be empty: otherwise the value of "go env -w" applies.
func buildEnv(env []string) []string {
	return append(env, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

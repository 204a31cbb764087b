// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/policytest"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// policyTest is a directory with a want.yaml.
type policyTest struct {
	dir  string
	want *policytest.Want
}

// findTests returns every want.yaml in and below the directories, sorted by path.
func findTests(dirs []string) ([]string, error) {
	var paths []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == policytest.FileName && !entry.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func readTest(path string) (policyTest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return policyTest{}, err
	}
	want, err := policytest.Parse(data)
	return policyTest{filepath.Dir(path), want}, err
}

// run decides about the objects of the test with its policies.
func (t *policyTest) run(ctx context.Context, compiler *engine.Compiler, protection policy.Protection) (*policytest.Got, error) {
	var paths []string
	for _, name := range slices.Concat(t.want.Policies, t.want.Objects) {
		paths = append(paths, filepath.Join(t.dir, name))
	}
	files, err := manifests.Open(resource.FilenameOptions{Filenames: paths}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = files.Close() }()
	loader := load.NewLoader(compiler, protection.Allow(t.want.AllowKinds...))
	in, err := load.Read(files, loader)
	if err != nil {
		return nil, err
	}
	if len(in.Unreadable) > 0 {
		return nil, in.Unreadable[0]
	}
	in.CheckNames(true)
	if t.want.Modes != policytest.AsWritten {
		in.Enforce()
	}
	node, err := in.Node()
	if err != nil {
		return nil, err
	}
	input := loader.Input(t.want.At)
	input.Policies, input.Namespaces, input.Node = in.Rules(), in.Namespaces, node
	return t.want.Run(ctx, input, files.Feed())
}

// update rewrites the want.yaml if the actual results differ.
func (t *policyTest) update(got *policytest.Got) error {
	path := filepath.Join(t.dir, policytest.FileName)
	written, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	updated := policytest.Update(written, got)
	if bytes.Equal(updated, written) {
		return nil
	}
	return os.WriteFile(path, updated, 0o644)
}

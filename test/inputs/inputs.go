// SPDX-License-Identifier: Apache-2.0

// Package inputs makes go test run a test again after a change of files that only other processes read, such as a compiler that the test
// starts. go test repeats an earlier result of a package as long as its program and the files that the test process itself has opened or
// examined are the same, if these are below the root of the module. It does not see what other processes read.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/sunset-k8s/sunset/cmd/playground/sources"
)

// Sources makes the files of this module from which packages are built inputs of the test that runs.
func Sources(ctx context.Context, packages ...string) error {
	list, err := exec.CommandContext(ctx, "go", sources.Arguments(packages...)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		return fmt.Errorf("list the sources of %v: %w", packages, err)
	}
	for _, path := range withDirectories(sources.Parse(string(list))) {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return nil
}

// withDirectories adds the directories of packages to their files, because the time of a directory changes when a file is added to it.
func withDirectories(files []string) []string {
	all := slices.Clone(files)
	for _, file := range files {
		if name := filepath.Base(file); name != "go.mod" && name != "go.sum" { // many other files are beside these
			all = append(all, filepath.Dir(file))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Files makes files, and all that is below directories, inputs of the test that runs.
func Files(paths ...string) error {
	for _, path := range paths {
		if err := filepath.WalkDir(path, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return err
		}
	}
	return nil
}

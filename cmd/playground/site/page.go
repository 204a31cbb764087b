// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Web is the directory of the sources of the page.
const Web = "cmd/playground/web"

// Page returns the directory of the playground.
func Page(ctx context.Context) (string, error) {
	if err := find("go", "node", "npm", "zstd"); err != nil { // before a build that takes minutes
		return "", err
	}
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	engine, err := compressed(ctx)
	if err != nil {
		return "", err
	}
	packages, err := Packages(ctx, Web)
	if err != nil {
		return "", err
	}
	goroot, err := run(ctx, root, plain, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	web, err := filesBelow(root, Web)
	if err != nil {
		return "", err
	}
	samples, err := filesBelow(root, "samples")
	if err != nil {
		return "", err
	}
	return cached("playground", hashOf(root, append(samples, web...), engine, packages), func(dir string) error {
		work := dir + "-work"
		defer func() { _ = os.RemoveAll(work) }()
		if err := stage(filepath.Join(root, Web), packages, work); err != nil {
			return err
		}
		if _, err := run(ctx, work, nil, "npm", "run", "--silent", "check"); err != nil {
			return err
		}
		_, err = run(ctx, work, nil, "node", "build.mjs", root, engine, filepath.Join(goroot, "lib/wasm/wasm_exec.js"), dir)
		return err
	})
}

// Packages returns the directory node_modules of the packages that the lock file in a directory of the repository pins.
func Packages(ctx context.Context, dir string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	from, pinned := filepath.Join(root, dir), []string{"package.json", "package-lock.json"}
	dir, err = cached("packages", hashOf(from, pinned), func(dir string) error {
		for _, name := range pinned {
			if err := copyFile(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		_, err := run(ctx, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
		return err
	})
	return filepath.Join(dir, modules), err
}

// modules is the name that programs expect for a directory of packages.
const modules = "node_modules"

// stage copies a directory, and adds packages to the copy.
func stage(from, packages, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(to, modules)); err != nil { // of an editor
		return err
	}
	return os.Symlink(packages, filepath.Join(to, modules))
}

// filesBelow returns the paths of files from root. It leaves out packages.
func filesBelow(root, dir string) (files []string, err error) {
	err = filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == modules && entry.IsDir():
			return fs.SkipDir
		case entry.Type().IsRegular():
			files = append(files, strings.TrimPrefix(file, root+string(filepath.Separator)))
		}
		return nil
	})
	return files, err
}

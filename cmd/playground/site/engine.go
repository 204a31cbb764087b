// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/playground/sources"
)

// wasm is the package of the engine.
const wasm = "github.com/sunset-k8s/sunset/cmd/playground/wasm"

// plain removes what would change the result of go: flags and workspaces of the user. GOFLAGS is not empty, because otherwise the value of
// go env -w applies.
var plain = []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}

// forBrowsers is the environment of go for the engine, and engineFlags are the flags.
var (
	forBrowsers = append([]string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}, plain...)
	engineFlags = []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
)

// Root returns the directory of the repository around the working directory.
func Root(ctx context.Context) (string, error) {
	return run(ctx, "", plain, "go", "list", "-m", "-f", "{{.Dir}}")
}

// Engine returns the file of the engine of the playground, a module of WebAssembly.
func Engine(ctx context.Context) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	files, err := sourcesOf(ctx, root)
	if err != nil {
		return "", err
	}
	version, err := run(ctx, root, forBrowsers, "go", "env", "GOVERSION", "GOEXPERIMENT", "GOFIPS140")
	if err != nil {
		return "", err
	}
	dir, err := cached("engine", hashOf(root, files, version, patches, engineFlags), func(dir string) error {
		return buildEngine(ctx, root, files, dir)
	})
	return filepath.Join(dir, "engine.wasm"), err
}

// sourcesOf returns the files of the repository from which the engine is built, as paths from root.
func sourcesOf(ctx context.Context, root string) ([]string, error) {
	list, err := run(ctx, root, forBrowsers, "go", sources.Arguments(wasm)...)
	if err != nil {
		return nil, err
	}
	files := sources.Parse(list)
	for i, file := range files {
		files[i] = strings.TrimPrefix(file, root+"/")
	}
	return files, nil
}

// buildEngine builds the engine from copies of its sources and of the modules that are patched. Then the result depends on nothing else
// of the repository. The engine contains the paths of the patched modules, which are relative to the copy of go.mod.
func buildEngine(ctx context.Context, root string, files []string, dir string) error {
	work := dir + "-work"
	defer func() { _ = os.RemoveAll(work) }()
	for _, file := range files {
		if err := copyFile(filepath.Join(root, file), filepath.Join(work, file)); err != nil {
			return err
		}
	}
	if err := patchModules(ctx, root, work); err != nil {
		return err
	}
	_, err := run(ctx, work, forBrowsers, "go", append(append([]string{"build"}, engineFlags...), "-o", filepath.Join(dir, "engine.wasm"), wasm)...)
	return err
}

// patchModules adds patched copies of modules to a copy of the repository, whose go.mod it changes.
func patchModules(ctx context.Context, root, work string) error {
	var replace bytes.Buffer
	for _, p := range patches {
		path := "modules/" + p.module
		copied := filepath.Join(work, path)
		if _, err := os.Stat(copied); err != nil {
			from, err := run(ctx, root, plain, "go", "list", "-m", "-f", "{{.Dir}}", p.module)
			if err != nil {
				return err
			}
			if err := os.CopyFS(copied, os.DirFS(from)); err != nil {
				return err
			}
			replace.WriteString("\nreplace " + p.module + " => ./" + path + "\n")
		}
		if err := p.apply(copied); err != nil {
			return err
		}
	}
	return appendTo(filepath.Join(work, "go.mod"), replace.Bytes())
}

func appendTo(file string, text []byte) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(before, text...), 0o644)
}

// copyFile copies a file to a path whose directory need not exist.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, text)
}

// writeFile writes a file to a path whose directory need not exist.
func writeFile(to string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// compressed returns the file of the engine in the format of zstd.
func compressed(ctx context.Context) (string, error) {
	engine, err := Engine(ctx)
	if err != nil {
		return "", err
	}
	dir, err := cached("compressed", hashOf(filepath.Dir(engine), []string{"engine.wasm"}), func(dir string) error {
		_, err := run(ctx, dir, nil, "zstd", "--ultra", "-22", "--quiet", engine, "-o", "engine.zst")
		return err
	})
	return filepath.Join(dir, "engine.zst"), err
}

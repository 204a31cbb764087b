// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// wasm is the package of the engine.
const wasm = "github.com/sunset-k8s/sunset/cmd/playground/wasm"

var forBrowsers = []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}

// Root returns the directory of the repository around the working directory.
func Root(ctx context.Context) (string, error) {
	return run(ctx, "", nil, "go", "list", "-m", "-f", "{{.Dir}}")
}

// Engine returns the file of the engine of the playground, a module of WebAssembly.
func Engine(ctx context.Context) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	list, err := run(ctx, root, forBrowsers, "go", "list", "-deps", "-f",
		`{{$dir := .Dir}}{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$dir}}/{{.}} {{end}}{{range $.EmbedFiles}}{{$dir}}/{{.}} {{end}}{{end}}{{end}}`, wasm)
	if err != nil {
		return "", err
	}
	version, err := run(ctx, root, nil, "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	files := strings.Fields(strings.ReplaceAll(list, root+"/", ""))
	dir, err := cached("engine", hashOf(root, append(files, "go.mod", "go.sum"), version, patches), func(dir string) error {
		return buildEngine(ctx, root, dir)
	})
	return filepath.Join(dir, "engine.wasm"), err
}

// buildEngine builds the engine in a workspace whose modules are patched. The engine contains their paths, which are relative to
// the workspace.
func buildEngine(ctx context.Context, root, dir string) error {
	const patched = "modules"
	defer func() { _ = os.RemoveAll(filepath.Join(dir, patched)) }()
	version, err := run(ctx, root, nil, "go", "list", "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		return err
	}
	workspace := "go " + version + "\nuse " + root + "\n"
	for _, p := range patches {
		copied := filepath.Join(dir, patched, p.module)
		if _, err := os.Stat(copied); err != nil {
			from, err := run(ctx, root, nil, "go", "list", "-m", "-f", "{{.Dir}}", p.module)
			if err != nil {
				return err
			}
			if err := os.CopyFS(copied, os.DirFS(from)); err != nil {
				return err
			}
			workspace += "replace " + p.module + " => ./" + patched + "/" + p.module + "\n"
		}
		if err := p.apply(copied); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.work"), []byte(workspace), 0o644); err != nil {
		return err
	}
	_, err = run(ctx, dir, append([]string{"GOWORK=" + filepath.Join(dir, "go.work")}, forBrowsers...),
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", "engine.wasm", wasm)
	return err
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

// SPDX-License-Identifier: Apache-2.0

// Command build builds the engine of the playground for a browser: go run ./cmd/playground/build -o engine.wasm
//
// It leaves out what the engine does not use, but what libraries keep linked because they initialize it: the types of the core
// API, the HTTP client, CBOR and OpenAPI in protobuf. If a patch does not match the library, it returns an error, so that a new
// version of a library is noticed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// patch replaces text in a file of a module. Each text must occur once. A patch without text replaces the file by an empty one.
type patch struct {
	module, file string
	replace      [][2]string
}

var patches = []patch{
	{"k8s.io/apiserver", "pkg/cel/library/authz.go", [][2]string{
		{"\t\"k8s.io/apiserver/pkg/authentication/serviceaccount\"\n", ""},
		{"&serviceaccount.ServiceAccountInfo{Name: name, Namespace: namespace}", `&user.DefaultInfo{}; panic("not in a browser")`},
		{"sa.UserInfo(),", "sa,"},
	}},
	{"k8s.io/apimachinery", "pkg/util/net/http.go", [][2]string{
		{"var defaultTransport = http.DefaultTransport.(*http.Transport)", "var defaultTransport *http.Transport"},
		{`fmt.Sprintf("%p", http.ProxyFromEnvironment)`, `""`},
	}},
	{"k8s.io/apimachinery", "pkg/runtime/serializer/cbor/direct/direct.go", [][2]string{
		{"\t\"k8s.io/apimachinery/pkg/runtime/serializer/cbor/internal/modes\"\n", "\t\"errors\"\n"},
		{"modes.Encode.Marshal(src)", "nil, errors.ErrUnsupported"},
		{"modes.Decode.Unmarshal(src, dst)", "errors.ErrUnsupported"},
		{"modes.Diagnostic.Diagnose(src)", `"", errors.ErrUnsupported`},
	}},
	{"k8s.io/kube-openapi", "pkg/validation/spec/gnostic.go", nil},
}

func main() {
	out := flag.String("o", "engine.wasm", "file to write")
	flag.Parse()
	if err := build(*out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work is the directory of the patched modules, from the root of the repository. The engine contains its name, so it is the same
// on each machine.
const work = "dist/engine"

func build(out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil { // of a build that was interrupted
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	modfile, err := patched()
	if err != nil {
		return err
	}
	command := exec.Command("go", "build", "-modfile="+modfile, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./cmd/playground/wasm")
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

// patched writes the patched modules, and returns a go.mod that replaces them.
func patched() (modfile string, err error) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return "", err
	}
	modules := map[string]string{}
	for _, p := range patches {
		if modules[p.module], err = output("go", "list", "-m", "-f", "{{.Dir}}", p.module); err != nil {
			return "", err
		}
	}
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		text = fmt.Appendf(text, "\nreplace %s => ./%s/%s\n", module, work, module)
	}
	for _, p := range patches {
		if err := p.write(modules[p.module], filepath.Join(work, p.module)); err != nil {
			return "", err
		}
	}
	modfile = filepath.Join(work, "go.mod")
	return modfile, errors.Join(os.WriteFile(modfile, text, 0o644), os.WriteFile(filepath.Join(work, "go.sum"), sums, 0o644))
}

func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// write writes the patched file to a copy of a module. All other files and directories of the copy are links.
func (p patch) write(module, copied string) error {
	text, err := p.apply(filepath.Join(module, p.file))
	if err != nil {
		return err
	}
	below := ""
	for _, name := range strings.Split(p.file, "/") {
		if err := link(filepath.Join(module, below), filepath.Join(copied, below)); err != nil {
			return err
		}
		below = filepath.Join(below, name)
		if err := os.Remove(filepath.Join(copied, below)); err != nil && !isDirectory(filepath.Join(copied, below)) {
			return err
		}
	}
	return os.WriteFile(filepath.Join(copied, p.file), []byte(text), 0o644)
}

// link makes a directory with a link to each entry of another one. It leaves entries that exist as they are.
func link(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func (p patch) apply(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := string(data)
	if p.replace == nil {
		return "package " + filepath.Base(filepath.Dir(file)) + "\n", nil
	}
	for _, of := range p.replace {
		if n := strings.Count(text, of[0]); n != 1 {
			return "", fmt.Errorf("%s contains this text %d times, want once; adapt the patch to the new version:\n%s", file, n, of[0])
		}
		text = strings.Replace(text, of[0], of[1], 1)
	}
	return text, nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// root is the directory in which the program runs: the root of the repository.
const root = "."

// finding is one sentence that breaks a rule.
type finding struct {
	file    string
	line    int
	message string
}

// check runs vale on the pages and Go files below paths.
func check(paths []string) ([]finding, error) {
	dir, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	texts := texts{dir: dir, of: map[string]text{}}
	for _, p := range paths {
		if err := filepath.WalkDir(p, texts.add); err != nil {
			return nil, err
		}
	}
	if len(texts.of) == 0 {
		return nil, fmt.Errorf("%s: no Markdown or Go files", strings.Join(paths, ", "))
	}
	alerts, err := vale(dir)
	if err != nil {
		return nil, err
	}
	var found []finding
	for name, list := range alerts {
		for _, a := range list {
			t := texts.of[name]
			found = append(found, finding{file: t.file, line: t.lineOf(a.Line), message: a.Message})
		}
	}
	return found, nil
}

type alert struct {
	Line    int
	Message string
}

// vale returns the alerts for each file in dir.
func vale(dir string) (map[string][]alert, error) {
	config, err := filepath.Abs(filepath.Join("test", "prose", "vale.ini"))
	if err != nil {
		return nil, err
	}
	command := exec.Command("go", "tool", "-modfile=test/prose/vale/go.mod", "vale",
		"--config", config, "--no-exit", "--output", "JSON", dir)
	command.Env = append(os.Environ(), "CGO_ENABLED=1") // its parsers are in C
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("vale: %w: %s", err, out)
	}
	alerts := map[string][]alert{}
	return alerts, json.Unmarshal(out, &alerts)
}

// text is the input of vale for one file.
type text struct {
	file  string
	lines []int // line in the file, for each paragraph; nil if vale reads the file unchanged
}

// lineOf converts a line of vale's input to a line of the file: paragraphs are on every second line.
func (t text) lineOf(line int) int {
	if t.lines == nil {
		return line
	}
	return t.lines[(line-1)/2]
}

type texts struct {
	dir string
	of  map[string]text // by name of vale's input file
}

// add writes vale's input for one file. It skips other modules, generated files and test data.
func (t texts) add(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case entry.IsDir():
		return enter(name)
	case strings.HasSuffix(name, ".go"):
		return t.addGo(name)
	case strings.HasSuffix(name, ".md") && !generated[filepath.ToSlash(filepath.Clean(name))]:
		return t.addPage(name)
	}
	return nil
}

// generated are pages that repeat comments of Go files.
var generated = map[string]bool{"docs/reference/api.md": true, "docs/reference/cel.md": true, "docs/reference/kubectl-sunset.md": true,
	"docs/reference/kubectl-sunset-output.md": true}

func enter(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	if base := filepath.Base(dir); dir != root && (err == nil || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")) {
		return fs.SkipDir
	}
	return nil
}

func (t texts) addPage(name string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return t.write(text{file: name}, ".md", string(page))
}

func (t texts) addGo(name string) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	all, err := paragraphs(name, source)
	if err != nil || len(all) == 0 {
		return err
	}
	var lines []int
	var out strings.Builder
	for _, p := range all {
		lines = append(lines, p.line)
		out.WriteString(ended(p.text) + "\n\n")
	}
	return t.write(text{file: name, lines: lines}, ".txt", out.String())
}

func (t texts) write(of text, extension, content string) error {
	name := filepath.Join(t.dir, fmt.Sprint(len(t.of))+extension)
	t.of[name] = of
	return os.WriteFile(name, []byte(content), 0o600)
}

// ended adds the full stop that titles and messages lack. Without it, vale would join adjacent paragraphs into one
// sentence.
func ended(text string) string {
	if strings.ContainsAny(text[len(text)-1:], ".?!:") {
		return text
	}
	return text + "."
}

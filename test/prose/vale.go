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
	defer os.RemoveAll(dir)
	texts := texts{dir: dir, of: map[string]text{}}
	for _, p := range paths {
		if err := filepath.WalkDir(p, texts.add); err != nil {
			return nil, err
		}
	}
	if len(texts.of) == 0 {
		return nil, fmt.Errorf("no page and no Go file in %s", strings.Join(paths, ", "))
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
	sortFindings(found)
	return found, nil
}

type alert struct {
	Line    int
	Message string
}

// vale gives the alerts about each file in dir.
func vale(dir string) (map[string][]alert, error) {
	config, err := filepath.Abs(filepath.Join("test", "prose", "vale.ini"))
	if err != nil {
		return nil, err
	}
	command := exec.Command("go", "tool", "-modfile=test/prose/vale/go.mod", "vale",
		"--config", config, "--no-exit", "--output", "JSON", dir)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("vale: %w: %s", err, out)
	}
	alerts := map[string][]alert{}
	return alerts, json.Unmarshal(out, &alerts)
}

// text is what vale reads of one file.
type text struct {
	file  string
	lines []int // of the file, for each paragraph; nil if vale reads the file as it is
}

// lineOf translates a line of what vale has read: paragraphs stand on every second line.
func (t text) lineOf(line int) int {
	if t.lines == nil {
		return line
	}
	return t.lines[(line-1)/2]
}

type texts struct {
	dir string
	of  map[string]text // by the file that vale reads
}

// add writes what vale reads of one file. It skips what another module, a generator or a test's data holds.
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

// generated pages repeat comments of Go files.
var generated = map[string]bool{"docs/reference.md": true, "docs/cel.md": true}

func enter(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	if base := filepath.Base(dir); dir != root && (err == nil || base == "testdata" || strings.HasPrefix(base, ".")) {
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
		out.WriteString(p.text + "\n\n")
	}
	return t.write(text{file: name, lines: lines}, ".txt", out.String())
}

func (t texts) write(of text, extension, content string) error {
	name := filepath.Join(t.dir, fmt.Sprint(len(t.of))+extension)
	t.of[name] = of
	return os.WriteFile(name, []byte(content), 0o600)
}

// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// TestCommandsOfPages runs the commands of all pages for users with bash, in the order of each page, beside a running controller. The
// commands are the lines of blocks without a language. A line that begins with "$ " shows the output of its command too, which is
// compared. Tests of the command line run the blocks with the language console, and test/stores those with the language sh.
//
// The page about kubectl sunset has examples of every command, and runs only with SUNSET_LONG.
//
// The folder testdata/pages has the objects with which all pages begin, those of one page (scenes.yaml), and the commands that cannot run
// here (not-run.yaml).
func TestCommandsOfPages(t *testing.T) {
	s := newStage(t)
	for _, page := range pagesForUsers(t) {
		t.Run(page.name, func(t *testing.T) {
			if isLong(page.name) && !long.Enabled() {
				t.Skip("runs with make test-long")
			}
			s.play(t, page)
		})
	}
}

// TestNotRunNamesCommandsOfPages: a page or a command that no longer exists is neither in not-run.yaml nor in scenes.yaml.
func TestNotRunNamesCommandsOfPages(t *testing.T) {
	skip, used, scenes := notRunOf(t), map[string]bool{}, scenesOf(t)
	for _, page := range pagesForUsers(t) {
		delete(scenes, page.name)
		for _, command := range page.commands {
			if prefix, _ := skip.find(page.name, command); prefix != "" {
				used[prefix] = true
			}
		}
	}
	for name := range scenes {
		t.Errorf("scene %s: no such page with commands", name)
	}
	for prefix := range skip {
		if !used[prefix] {
			t.Errorf("no page has the command %s", prefix)
		}
	}
}

// isLong reports whether a page, by its name or file name, is the one that runs only with SUNSET_LONG.
func isLong(page string) bool {
	return strings.TrimSuffix(filepath.Base(page), ".md") == "kubectl-sunset"
}

// page is a page with commands.
type page struct {
	name, text string
	commands   []shown
}

// pagesForUsers returns the pages with commands that are not about contributing. The reference is the last, and without repeated commands.
func pagesForUsers(t *testing.T) (all []page) {
	t.Helper()
	before := map[shown]bool{}
	for _, folder := range []string{"tasks", ".", "operations", "concepts", "reference"} {
		names, err := filepath.Glob("../../docs/" + folder + "/*.md")
		expect.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			expect.NoError(t, err)
			commands := slices.DeleteFunc(commandsOf(string(text)), func(c shown) bool {
				repeated := before[c]
				before[c] = before[c] || !isLong(name)
				return repeated && folder == "reference"
			})
			if len(commands) > 0 {
				all = append(all, page{strings.TrimSuffix(filepath.Base(name), ".md"), string(text), commands})
			}
		}
	}
	return all
}

// shown is a command on a page, and the output that the page shows for it; empty if it shows none.
type shown struct{ command, output string }

// anyBlock finds a block with its indentation, language and lines.
var anyBlock = regexp.MustCompile("(?ms)^( *)```(\\w*)[^\n]*\n(.*?)^ *```$")

// blocksOf returns the contents of the blocks of a page in a language, without their indentation.
func blocksOf(page, language string) (all []string) {
	for _, block := range anyBlock.FindAllStringSubmatch(page, -1) {
		if block[2] == language {
			all = append(all, strings.TrimPrefix(strings.ReplaceAll("\n"+block[3], "\n"+block[1], "\n"), "\n"))
		}
	}
	return all
}

func commandsOf(page string) (all []shown) {
	for _, block := range blocksOf(page, "") {
		if sessions := strings.Split("\n"+block, "\n$ ")[1:]; len(sessions) > 0 {
			for _, session := range sessions {
				command, output, _ := strings.Cut(session, "\n")
				all = append(all, shown{command, output})
			}
			continue
		}
		command := ""
		for line := range strings.Lines(block) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			command += line
			if end := strings.TrimSpace(line); strings.HasSuffix(end, `\`) || strings.HasSuffix(end, "|") || strings.Count(command, "'")%2 == 1 {
				continue
			}
			if command = strings.TrimSpace(command); command != "" {
				all = append(all, shown{command: command})
			}
			command = ""
		}
	}
	return all
}

// notRun is why commands are not run, by their first words.
type notRun map[string]string

func notRunOf(t *testing.T) (n notRun) {
	t.Helper()
	text, err := os.ReadFile("testdata/pages/not-run.yaml")
	expect.NoError(t, err)
	expect.NoError(t, yaml.UnmarshalStrict(text, &n))
	return n
}

// find returns the key of a command of a page, and the reason; both are empty if the command runs.
func (n notRun) find(page string, c shown) (prefix, why string) {
	for prefix, why := range n {
		if strings.HasPrefix(c.command, prefix) || strings.HasPrefix(page+": "+c.command, prefix) {
			return prefix, why
		}
	}
	return "", ""
}

// shows reports a difference between the output on the page and the printed one. Both may have other white space and line breaks, and
// other times and hashes. "..." stands for any text.
func (c shown) shows(printed string) error {
	var want []string
	for _, word := range strings.Fields(strings.ReplaceAll(c.output, "[y/N]: y", "[y/N]: ")) { // input is not printed
		if word == "..." {
			want = append(want, `.*`)
			continue
		}
		word = regexp.QuoteMeta(word)
		for _, differs := range differing {
			word = differs.ReplaceAllLiteralString(word, differs.String())
		}
		want = append(want, word)
	}
	got := strings.Join(strings.Fields(printed), " ")
	if c.output != "" && !regexp.MustCompile(`(?s)^`+strings.Join(want, " ?")+`$`).MatchString(got) {
		return fmt.Errorf("the page shows\n%s\nbut the command prints\n%s", c.output, printed)
	}
	return nil
}

// differing finds what differs in each output: hashes, times and ages, and which of many ConfigMaps were created in the first second.
var differing = []*regexp.Regexp{
	regexp.MustCompile(`\b[0-9a-f]{32}\b`), regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), regexp.MustCompile(`\b(?:\d+[dhms])+\b`),
	regexp.MustCompile(`\bshop/report-\d+\b`),
}

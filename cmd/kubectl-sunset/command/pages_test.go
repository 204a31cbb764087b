// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCommandsOfTheDocs runs the commands in the console blocks of all pages, and compares the output. A line "..." stands for
// any lines.
func TestCommandsOfTheDocs(t *testing.T) {
	t.Chdir("../../..")
	count := 0
	expect.NoError(t, filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := os.ReadFile(path)
		for _, block := range consoleBlock.FindAllStringSubmatch(string(page), -1) {
			for _, session := range strings.Split("\n"+strings.ReplaceAll(block[2], "\n"+block[1], "\n"), "\n$ ")[1:] {
				line, output, _ := strings.Cut(session, "\n")
				t.Run(filepath.Base(path)+": "+line, func(t *testing.T) { runLine(t, line, output) })
				count++
			}
		}
		return err
	}))
	if count < 10 {
		t.Errorf("only %d commands", count)
	}
}

// consoleBlock finds a block, with its indentation and its lines.
var consoleBlock = regexp.MustCompile("(?ms)^( *)```console\n *(.*?)\n *```$")

// edited finds a command whose input is a file in which sed replaces a word.
var edited = regexp.MustCompile(`^sed s/(\w+)/(\w+)/ (\S+) \| `)

const withoutCluster = "note: the files contain objects besides policies, so the command does not read the cluster\n"

func runLine(t *testing.T, line, output string) {
	stdin := ""
	if edit := edited.FindStringSubmatch(line); edit != nil {
		text, err := os.ReadFile(edit[3])
		expect.NoError(t, err)
		for _, row := range strings.SplitAfter(string(text), "\n") {
			stdin += strings.Replace(row, edit[1], edit[2], 1)
		}
		line = strings.TrimPrefix(line, edit[0])
	}
	args, isForecast := strings.CutPrefix(line, "go run ./cmd/forecast ")
	if isForecast { // it does not mention the cluster
		got := run(t, stdin, append([]string{"preview"}, strings.Fields(args)...)...)
		got.err = strings.ReplaceAll(got.err, withoutCluster, "")
		expectOutput(t, output, got)
		return
	}
	args, isOurs := strings.CutPrefix(line, "kubectl sunset ")
	if !isOurs {
		t.Fatal("not a command of kubectl sunset")
	}
	expectOutput(t, output, run(t, stdin, strings.Fields(args)...))
}

// expectOutput compares the output on a page with that of a command.
func expectOutput(t *testing.T, output string, got ran) {
	t.Helper()
	var want strings.Builder
	for _, line := range strings.SplitAfter(strings.TrimRight(output, "\n")+"\n", "\n") {
		if strings.TrimSpace(line) == "..." {
			want.WriteString(`(?s:.*)`)
		} else {
			want.WriteString(regexp.QuoteMeta(line))
		}
	}
	if printed := strings.TrimRight(got.err+got.out, "\n") + "\n"; !regexp.MustCompile(`^` + want.String() + `$`).MatchString(printed) {
		expect.Equal(t, "output", strings.TrimRight(output, "\n")+"\n", printed)
	}
}

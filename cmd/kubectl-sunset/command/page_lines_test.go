// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCommandsOfPagesParse parses each command of kubectl sunset on all pages, in blocks and in the text, without running it: its
// subcommands and flags exist, and values of flags have the type of the flag.
func TestCommandsOfPagesParse(t *testing.T) {
	t.Chdir("../../..")
	count := 0
	expect.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "testdata"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".md" || slices.Contains([]string{"kubectl-sunset.md", "old-names.md"}, filepath.Base(path)):
			return nil // generated, and about names that no longer exist
		}
		page, err := os.ReadFile(path)
		for _, words := range commandsOf(string(page)) {
			count++
			if err := parse(words); err != nil {
				t.Errorf("%s: kubectl sunset %s: %v", path, strings.Join(words, " "), err)
			}
		}
		return err
	}))
	if count < 200 {
		t.Errorf("found only %d commands", count)
	}
}

func TestWrongCommandsOfPagesAreFound(t *testing.T) {
	page := "Run `kubectl sunset explian job/a`, `kubectl sunset`, or `kubectl sunset\narchive ls --al`:\n\n" +
		"```\nx=$(kubectl sunset status --web) # kubectl sunset destroy\nkubectl get x | kubectl sunset preview --in 'two words' -f - > out\n" +
		"kubectl sunset archive destroy\nkubectl sunset preview \\\n  --fail-on \"deletions>10\" --at +7d; kubectl sunset unused --at=now\n```\n"
	var got []string
	for _, words := range commandsOf(page) {
		got = append(got, fmt.Sprintf("%q: %v", words, parse(words)))
	}
	expect.Equal(t, "commands", []string{
		`["status" "--web"]: <nil>`,
		`["preview" "--in" "two words" "-f" "-"]: unknown flag: --in`,
		`["archive" "destroy"]: unknown command "destroy" for "kubectl sunset archive"`,
		`["preview" "--fail-on" "deletions>10" "--at" "+7d"]: <nil>`,
		`["unused" "--at=now"]: unknown flag: --at`,
		`["explian" "job/a"]: unknown command "explian" for "kubectl sunset"`,
		`["archive" "ls" "--al"]: unknown flag: --al`,
	}, got)
}

// commandsOf returns the arguments of each command on a page: first the commands in blocks, then those in the text.
func commandsOf(page string) [][]string {
	var commands [][]string
	add := func(code string) {
		code = strings.ReplaceAll(code, "kubectl sunset", "\nkubectl sunset") // a message may name two
		for _, found := range sunsetCommand.FindAllStringSubmatch(code, -1) {
			var words []string
			for _, word := range shellWord.FindAllString(found[1], -1) {
				words = append(words, unquote.ReplaceAllString(word, "$1$2"))
			}
			if len(words) > 0 {
				commands = append(commands, words)
			}
		}
	}
	for _, block := range fencedBlock.FindAllString(page, -1) {
		block = strings.ReplaceAll(block, "\\\n", " ")
		add(shellComment.ReplaceAllString(block, ""))
	}
	for _, code := range inlineCode.FindAllString(fencedBlock.ReplaceAllString(page, ""), -1) {
		add(strings.ReplaceAll(strings.Trim(code, "`"), "\n", " "))
	}
	return commands
}

// sunsetCommand finds a command up to the end of the line or to what ends it in a shell. An ellipsis ends it too.
var (
	sunsetCommand = regexp.MustCompile(`kubectl sunset((?: +(?:'[^'\n]*'|"[^"\n]*"|[^\s'"|>;&)#<…]|\.\.\.)+)*)`)
	shellWord     = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	unquote       = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
	shellComment  = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	fencedBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode    = regexp.MustCompile("`[^`]+`")
)

// parse parses the arguments of a command, and reports what is unknown.
func parse(words []string) error {
	c, rest, err := command.New(genericiooptions.NewTestIOStreamsDiscard(), now).Find(words)
	if err != nil {
		return errors.New(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	if err := c.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return errors.New(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	}
	return nil
}

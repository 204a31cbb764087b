// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

// commands returns the root command and all commands below it.
func commands() []*cobra.Command {
	all := []*cobra.Command{command.New(genericiooptions.IOStreams{}, now)}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// TestHelpIsThatOfAManual: every command has a short and a long description, exit codes, and examples.
func TestHelpIsThatOfAManual(t *testing.T) {
	if len(commands()) < 10 {
		t.Errorf("only %d commands", len(commands()))
	}
	for _, c := range commands() {
		for what, ok := range map[string]bool{
			"a Short without a full stop": c.Short != "" && !strings.HasSuffix(c.Short, "."),
			"a Long":                      len(c.Long) > len(c.Short),
			"its exit codes":              strings.Contains(c.Long, "Exit codes: 0 "),
			"a use with a name":           strings.HasPrefix(c.Use, c.Name()),
			"an Example, and its purpose": regexp.MustCompile(`^  # \S.*\n  \S`).MatchString(c.Example),
		} {
			if !ok {
				t.Errorf("%s lacks %s", c.CommandPath(), what)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no usage", c.CommandPath(), f.Name)
			}
		})
		for _, line := range strings.Split(c.Long, "\n") {
			if len([]rune(line)) > 125 {
				t.Errorf("%s: a line is too long for a terminal: %s", c.CommandPath(), line)
			}
		}
	}
}

// TestExamplesCanBeTyped: the commands and flags of all examples exist.
func TestExamplesCanBeTyped(t *testing.T) {
	seen := map[string]bool{}
	for _, of := range commands() {
		for _, match := range regexp.MustCompile(`kubectl[ -]sunset ([^|>&\n)]+)`).FindAllStringSubmatch(of.Example, -1) {
			c, rest, err := command.New(genericiooptions.IOStreams{}, now).Find(strings.Fields(match[1]))
			if err != nil || !c.HasParent() {
				t.Errorf("%s: unknown command: %s", of.CommandPath(), match[0])
				continue
			}
			if err := c.ParseFlags(rest); err != nil {
				t.Errorf("%s: %s: %v", of.CommandPath(), match[0], err)
			}
			for ; c != nil; c = c.Parent() {
				seen[c.Name()] = true
			}
		}
	}
	for _, c := range commands()[1:] {
		if !seen[c.Name()] {
			t.Errorf("no example uses %s", c.CommandPath())
		}
	}
}

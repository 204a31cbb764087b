// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/mistakes"
)

// toWrite finds the suggested text in a hint.
var toWrite = regexp.MustCompile(`(?m)hint: (?:.*: |)(?:write |did you mean )(.+?)(?:\?|, or .*|; .*)?$`)

// isForm recognizes a hint that describes a format, instead of the exact text.
var isForm = regexp.MustCompile(` such as |\b[A-Z]{4,}\b|^(a|the|it|how|one) `)

// TestMistakes records the answer to each mistake. It also checks that the suggested text is in the correct version, and that
// this version is valid.
func TestMistakes(t *testing.T) {
	all, err := mistakes.All()
	expect.NoError(t, err)
	var answers strings.Builder
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			got := run(t, m.Wrong, "validate", "--warnings-as-errors", "-f", "-")
			answer := got.err
			if got.code == command.ExitFindings {
				answer, _, _ = strings.Cut(got.out, "1 policy in ")
				answer, _, _ = strings.Cut(answer, "0 policies in ")
				answer, _, _ = strings.Cut(answer, "Kinds and fields are those of ")
			}
			fmt.Fprintf(&answers, "# %s\n%s\n", m.Name, answer)
			wants(t, run(t, m.Right, "validate", "--warnings-as-errors", "-f", "-"), command.ExitOK)
			if n := strings.Count(answer, "stdin:"); n != 1 {
				t.Errorf("%d problems for one mistake:\n%s", n, answer)
			}
			for _, match := range toWrite.FindAllStringSubmatch(answer, -1) {
				for part := range strings.SplitSeq(match[1], " and kind") {
					if !isForm.MatchString(part) && !strings.Contains(bare(m.Right), bare(part)) {
						t.Errorf("the hint suggests %s, want %s", part, m.ShouldBe)
					}
				}
			}
		})
	}
	golden(t, "mistakes", ran{out: answers.String()})
}

// bare removes characters that do not matter for the comparison.
func bare(s string) string { return strings.NewReplacer(" ", "", `"`, "", `\`, "").Replace(s) }

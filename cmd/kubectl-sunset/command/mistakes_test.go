package command_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/mistakes"
)

// toWrite finds in an answer what its hint says to write.
var toWrite = regexp.MustCompile(`(?m)hint: (?:.*: |)(?:write |did you mean )(.+?)(?:\?|, or .*|; .*)?$`)

// isForm recognizes a hint that says what form to write, in words or capitals, and not what in this place.
var isForm = regexp.MustCompile(` such as |\b[A-Z]{4,}\b|^(a|the|it|how|one) `)

// TestMistakes shows what each mistake is answered with, and does what the answer says: nothing is wrong then.
func TestMistakes(t *testing.T) {
	all, err := mistakes.All()
	if err != nil {
		t.Fatal(err)
	}
	var answers strings.Builder
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			got := run(t, m.Wrong, "validate", "--warnings-as-errors", "-f", "-")
			answer := got.err
			if got.code == command.ExitFindings {
				answer, _, _ = strings.Cut(got.out, "1 policy in ")
				answer, _, _ = strings.Cut(answer, "Kinds and fields are those of ")
			}
			fmt.Fprintf(&answers, "# %s\n%s\n", m.Name, answer)
			wants(t, run(t, m.Right, "validate", "--warnings-as-errors", "-f", "-"), command.ExitFine)
			if n := strings.Count(answer, "stdin:"); n != 1 {
				t.Errorf("%d problems of one mistake:\n%s", n, answer)
			}
			for _, match := range toWrite.FindAllStringSubmatch(answer, -1) {
				for part := range strings.SplitSeq(match[1], " and kind") {
					if !isForm.MatchString(part) && !strings.Contains(bare(m.Right), bare(part)) {
						t.Errorf("the hint says to write %s, and right is %s", part, m.ShouldBe)
					}
				}
			}
		})
	}
	golden(t, "mistakes", ran{out: answers.String()})
}

// bare is text without what may be written in several ways.
func bare(s string) string { return strings.NewReplacer(" ", "", `"`, "", `\`, "").Replace(s) }

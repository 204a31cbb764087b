// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// TestReport is the result of test in JSON and YAML. The format is stable.
type TestReport struct {
	metav1.TypeMeta `json:",inline"`
	Passed          int          `json:"passed"` // includes updated tests
	Failed          int          `json:"failed"`
	Tests           []TestResult `json:"tests"` // by directory; with --fail-only, only those that fail
}

// TestResult is the result of one test.
type TestResult struct {
	Directory   string   `json:"directory"`
	Result      string   `json:"result"`                // Passed, Failed or Updated
	Differences []string `json:"differences,omitempty"` // lines; "-" is the expected value, "+" is the actual value
}

// The values of TestResult.Result.
const (
	testPassed  = "Passed"
	testFailed  = "Failed"
	testUpdated = "Updated"
)

// write writes the differences of each failed test, the names of updated tests, and the numbers.
func (r *TestReport) write(w io.Writer) error {
	style := text.StyleOf(w)
	for _, t := range r.Tests {
		switch t.Result {
		case testUpdated:
			fmt.Fprintf(w, "%s %s\n", style.Warning("UPDATED"), t.Directory)
		case testFailed:
			fmt.Fprintf(w, "%s %s\n", style.Bad("FAIL"), t.Directory)
			for _, line := range t.Differences {
				fmt.Fprintf(w, "  %s\n", painted(style, line))
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d passed, %d failed\n", r.Passed, r.Failed)
	return err
}

// painted returns a line of a difference in color.
func painted(style text.Style, line string) string {
	switch change := strings.TrimSpace(line); {
	case strings.HasPrefix(change, "-"):
		return style.Bad(line)
	case strings.HasPrefix(change, "+"):
		return style.Good(line)
	default:
		return line
	}
}

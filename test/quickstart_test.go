// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestQuickstartScriptHasTheStepsOfThePage: the script, which tests run, has the commands of the page in their order, and
// otherwise only commands that wait for a state or show it. The page ends with commands that remove everything.
func TestQuickstartScriptHasTheStepsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "quickstart.md"))
	expect.NoError(t, err)
	script, err := os.ReadFile(filepath.Join(root, "test", "quickstart", "quickstart.sh"))
	expect.NoError(t, err)
	expect.Equal(t, "commands", stepsOfPage(string(page)), stepsOfScript(string(script)))
}

// stepsOfPage returns the commands of the numbered steps.
func stepsOfPage(page string) []string {
	var steps []string
	for _, block := range regexp.MustCompile("(?ms)^   ```\n(.*?)^   ```$").FindAllStringSubmatch(page, -1) {
		steps = append(steps, lines(block[1])...)
	}
	return without(steps, `^kind delete cluster$`)
}

// stepsOfScript returns the commands of the functions of a script, without those that wait for what the page describes.
func stepsOfScript(script string) []string {
	var steps []string
	for _, body := range regexp.MustCompile(`(?ms)^\w+\(\) \{\n(.*?)^\}$`).FindAllStringSubmatch(script, -1) {
		steps = append(steps, lines(body[1])...)
	}
	return without(steps, `^kubectl (wait --for=jsonpath=|get job |delete clusterretentionpolicy )`)
}

// lines returns the commands of a text, with the lines that they continue on, and without comments and options for timeouts.
func lines(text string) []string {
	text = regexp.MustCompile(`\s*\\\n\s*`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(`(?m)\s+(#.*|--timeout=\S+)$`).ReplaceAllString(text, "")
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

func without(all []string, pattern string) (rest []string) {
	for _, line := range all {
		if !regexp.MustCompile(pattern).MatchString(line) {
			rest = append(rest, line)
		}
	}
	return rest
}

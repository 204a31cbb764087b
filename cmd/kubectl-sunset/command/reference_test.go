// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"github.com/sunset-k8s/sunset/test/expect"
)

const referenceHead = `<!-- Generated from the help of the commands. To change it, change the help and run make generate. -->

# kubectl sunset

The help of every command. [Quickstart](../quickstart.md#install-kubectl-sunset) shows how to install the plugin.

`

// TestReferencePage: docs/reference/kubectl-sunset.md is the help of all commands.
func TestReferencePage(t *testing.T) {
	t.Setenv("KUBECACHEDIR", "$HOME/.kube/cache") // a default that the help shows
	page := bytes.NewBufferString(referenceHead)
	for _, c := range commands() {
		if c.Name() == "help" {
			continue
		}
		c.Root().DisableAutoGenTag = true
		if len(c.Aliases) > 0 {
			c.Long += "\n\nAliases: " + strings.Join(c.Aliases, ", ")
		}
		var section bytes.Buffer
		expect.NoError(t, doc.GenMarkdown(c, &section))
		text, _, _ := strings.Cut(section.String(), "### SEE ALSO")
		text = strings.ReplaceAll(strings.Replace(text, "### Synopsis\n\n", "", 1), "\n\n```\n", "\n\n```text\n")
		text = strings.Replace(text, "### Examples\n\n```text\n", "### Examples\n\n```\n", 1) // only commands are in blocks without a language
		page.WriteString(strings.TrimRight(text, "\n") + "\n\n")
	}
	expect.Golden(t, "../../../docs/reference/kubectl-sunset.md", page.String(), *update)
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// dryRunFlag is kubectl's flag --dry-run: none, or what the command offers of client and server.
type dryRunFlag struct {
	value string
	of    []string
}

// add adds the flag and the completion of its value; of are its values besides none.
func (d *dryRunFlag) add(c *cobra.Command, help string, of ...string) {
	d.value, d.of = "none", append([]string{"none"}, of...)
	c.Flags().Var(d, "dry-run", help)
	_ = c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(d.of, cobra.ShellCompDirectiveNoFileComp))
}

// isClient reports whether the command sends no change.
func (d *dryRunFlag) isClient() bool { return d.value == "client" }

// isServer reports whether the API server only checks the changes.
func (d *dryRunFlag) isServer() bool { return d.value == "server" }

// suffix follows what the command says it did, as in kubectl; empty without a dry run.
func (d *dryRunFlag) suffix() string {
	return map[string]string{"client": " (dry run)", "server": " (server dry run)"}[d.value]
}

// Set implements pflag.Value.
func (d *dryRunFlag) Set(text string) error {
	if !slices.Contains(d.of, text) {
		return fmt.Errorf("must be one of %s", strings.Join(d.of, ", "))
	}
	d.value = text
	return nil
}

// String implements pflag.Value.
func (d *dryRunFlag) String() string { return d.value }

// Type implements pflag.Value.
func (d *dryRunFlag) Type() string { return strings.Join(d.of, "|") }

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	records "github.com/sunset-k8s/sunset/policy/archive"
)

// count shows the progress of work on the objects of a bucket.
type count struct{ *terminal.Progress }

func startCount(w io.Writer, done string) count {
	return count{terminal.StartProgress(w, "objects of the archive "+done)}
}

// Show shows the number of objects that are done.
func (c count) Show(p records.Progress) { c.Set(p.Done) }

// isEncrypted reports whether an object of an archive is encrypted.
func isEncrypted(name string) bool { return strings.HasSuffix(name, ".age") }

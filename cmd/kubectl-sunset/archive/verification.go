// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// WriteVerification writes the result of verify: the numbers, and what is wrong. name names the archive.
func WriteVerification(w io.Writer, name string, v archive.Verification) error {
	style := text.StyleOf(w)
	fmt.Fprintf(w, "%s, %s, %s, %d bytes\n", preview.Count(v.Segments, "segment"), preview.Count(v.Records, "record"), preview.Count(v.IndexObjects, "index object"), v.Bytes)
	for _, problem := range v.Damaged {
		fmt.Fprintf(w, "%s %s\n", style.Bad("damaged:"), problem)
	}
	for _, segment := range v.Missing {
		fmt.Fprintf(w, "%s segment %q: the index has its records, but the store does not have it; restore it from a copy of the bucket\n", style.Bad("missing:"), segment)
	}
	if n := len(v.NotIndexed); n > 0 {
		fmt.Fprintf(w, "%s not in the index: searches read them, which takes longer\n", preview.Count(n, "segment"))
	}
	if n := len(v.Unrelated); n > 0 {
		fmt.Fprintf(w, "%s not part of the archive, such as %q\n", preview.Count(n, "object"), v.Unrelated[0])
	}
	verdict := style.Good("intact")
	if !v.OK() {
		verdict = style.Bad(fmt.Sprintf("%d damaged, %d missing", len(v.Damaged), len(v.Missing)))
	}
	_, err := fmt.Fprintf(w, "archive %s: %s\n", name, verdict)
	return err
}

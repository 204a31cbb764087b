// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// Verification is the result of verify. It is the format in JSON and YAML, of kind ArchiveVerification.
type Verification struct {
	metav1.TypeMeta `json:",inline"`
	Archive         string   `json:"archive"` // name of the RetentionArchive, or the URL
	Intact          bool     `json:"intact"`  // nothing is damaged or missing
	Segments        int      `json:"segments"`
	IndexObjects    int      `json:"indexObjects"`
	Records         int      `json:"records"`              // 0 if the archive is encrypted and no identity was given
	Bytes           int64    `json:"bytes"`                // of all objects in the bucket
	Damaged         []string `json:"damaged"`              // objects that cannot be read, or whose digest is wrong, each with the cause
	Missing         []string `json:"missing"`              // segments that the index names and the store does not have
	NotIndexed      []string `json:"notIndexed,omitempty"` // segments that no index object covers; searches read them
	Unrelated       []string `json:"unrelated,omitempty"`  // objects in the bucket that are not part of the archive
}

// NewVerification makes a Verification.
func NewVerification(name string, v archive.Verification) *Verification {
	r := &Verification{
		TypeMeta: preview.TypeMeta("ArchiveVerification"), Archive: name, Intact: v.OK(), Segments: v.Segments, IndexObjects: v.IndexObjects,
		Records: v.Records, Bytes: v.Bytes, Damaged: []string{}, Missing: append([]string{}, v.Missing...), NotIndexed: v.NotIndexed, Unrelated: v.Unrelated,
	}
	for _, err := range v.Damaged {
		r.Damaged = append(r.Damaged, err.Error())
	}
	return r
}

// WriteText writes the numbers, and what is wrong.
func (v *Verification) WriteText(w io.Writer) error {
	style := text.StyleOf(w)
	fmt.Fprintf(w, "%s, %s, %s, %d bytes\n", preview.Count(v.Segments, "segment"), preview.Count(v.Records, "record"), preview.Count(v.IndexObjects, "index object"), v.Bytes)
	for _, problem := range v.Damaged {
		fmt.Fprintf(w, "%s %s\n", style.Bad("damaged:"), problem)
	}
	for _, name := range v.Missing {
		fmt.Fprintf(w, "%s segment %q: the index has its records, but the store does not have it; restore it from a copy of the bucket\n", style.Bad("missing:"), name)
	}
	if n := len(v.NotIndexed); n > 0 {
		fmt.Fprintf(w, "%s not in the index: searches read them, which takes longer\n", preview.Count(n, "segment"))
	}
	if n := len(v.Unrelated); n > 0 {
		fmt.Fprintf(w, "%s not part of the archive, such as %q\n", preview.Count(n, "object"), v.Unrelated[0])
	}
	verdict := style.Good("intact")
	if !v.Intact {
		verdict = style.Bad(fmt.Sprintf("%d damaged, %d missing", len(v.Damaged), len(v.Missing)))
	}
	_, err := fmt.Fprintf(w, "archive %s: %s\n", v.Archive, verdict)
	return err
}

// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestArchivesThatShareAURL: a second RetentionArchive with the url of another cannot be used, and neither deletes by spec.retain
// until one of them is deleted.
func TestArchivesThatShareAURL(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "segments", []string{"27", "28", "29", "30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		expect.Equal(t, "deletable", "False Failed", h.condition("history", v1alpha1.ArchiveDeletable))
		expect.Equal(t, "ready of the younger", "False Invalid", h.condition("also", v1alpha1.ArchiveReady))
		rule := h.rule("p", func(r *policy.Rule) { r.Archive = &policy.Archive{To: "also"} })
		s := h.add(rule, "one")[0]
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		expect.Equal(t, "problem", `RetentionArchive "also": spec.url: RetentionArchive "history" has the same bucket and prefix, `+
			`so each would delete records of the other (delete this RetentionArchive, and create it with another prefix or bucket)`, s.problem())
		h.set(func() { h.archives = h.archives[:1] })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "segments of one", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "deletable", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(), func(h *harness) {
		h.archives[0].CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		younger := h.archives[0]
		younger.Name, younger.UID, younger.CreationTimestamp, younger.Spec.Retain = "also", "uid-also", metav1.NewTime(time.Now()), "1d"
		h.archives = append(h.archives, younger)
	})
}

// TestSharedURLIsFoundLater: a RetentionArchive that could be used before is invalid as soon as an older one with its url is known.
func TestSharedURLIsFoundLater(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		older := h.archives[0]
		older.Name, older.UID = "also", "uid-also" // of two that were created at the same time, the first by name
		h.set(func() { h.archives = append(h.archives, older) })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "ready", "False Invalid", h.condition("history", v1alpha1.ArchiveReady))
		h.set(func() { h.archives = h.archives[:1] })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "ready again", "True Available", h.condition("history", v1alpha1.ArchiveReady))
	})
}

// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

const recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// encrypted encrypts the archive "history".
func encrypted(h *harness) {
	h.archives[0].Spec.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{recipient}}
	h.stores["mem://history"].unreadable = true
}

// edit changes the RetentionArchive "history".
func (h *harness) edit(change func(*v1alpha1.ArchiveSpec)) {
	h.set(func() {
		h.archives[0].Generation++
		change(&h.archives[0].Spec)
	})
}

func TestInvalidEditKeepsTheEncryption(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ArchiveSpec){
		"invalid recipient": func(s *v1alpha1.ArchiveSpec) { s.Encryption.Recipients = []string{"age1nothing"} },
		"no recipients":     func(s *v1alpha1.ArchiveSpec) { s.Encryption, s.Retain = nil, "90x" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				b := h.stores["mem://history"]
				h.add(h.rule("p"), "one")
				bubble.Pass(time.Second)
				expect.Equal(t, "deleted", []string{"one"}, h.names())
				h.edit(change)
				bubble.Pass(6 * time.Second)
				expect.Equal(t, "ready", "False Invalid", h.condition("history", v1alpha1.ArchiveReady))
				h.end() // writes the result
				expect.Equal(t, "index objects", 1, b.count(archive.IndexPrefix))
				for _, object := range keys(b.data) {
					if !strings.HasSuffix(object, ".age") {
						t.Errorf("%s is not encrypted", object)
					}
				}
				h.begin()
			}, encrypted)
		})
	}
}

// count is the number of objects below a prefix.
func (b *bucket) count(prefix string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.data {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

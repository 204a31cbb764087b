// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	records "github.com/sunset-k8s/sunset/policy/archive"
)

// unread collects the objects of an archive that cannot be read, so that the command goes on with the others.
type unread struct {
	mu      sync.Mutex
	objects map[string]error // the first error of each
}

func (u *unread) add(object string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.objects == nil {
		u.objects = map[string]error{}
	}
	if u.objects[object] == nil {
		u.objects[object] = err
	}
}

// encrypted returns the error of an object that is encrypted for other recipients; nil if there is none.
func (u *unread) encrypted() error {
	for _, object := range slices.Sorted(maps.Keys(u.objects)) {
		if errors.Is(u.objects[object], records.ErrEncrypted) {
			return u.objects[object]
		}
	}
	return nil
}

// unreadMost is how many objects that cannot be read are named.
const unreadMost = 10

// warn writes which objects of an archive were not read. If there are any, it returns errFindings instead of no error.
func (u *unread) warn(w io.Writer, archive string, err error) error {
	n := len(u.objects)
	if n == 0 || errors.Is(err, records.ErrEncrypted) { // the error says it already
		return err
	}
	segments := 0
	for i, object := range slices.Sorted(maps.Keys(u.objects)) {
		if i < unreadMost {
			fmt.Fprintf(w, "warning: %s\n", text.EscapeLine(explainArchive(u.objects[object]).Error()))
		}
		if strings.HasPrefix(object, records.SegmentPrefix) {
			segments++
		}
	}
	if n > unreadMost {
		fmt.Fprintf(w, "warning: %d more\n", n-unreadMost)
	}
	fmt.Fprintf(w, "Archive %s was not read completely: %s, whose records are missing here, and %s, whose results are missing. To check it: kubectl sunset archive verify\n",
		text.EscapeLine(archive), preview.Count(segments, "segment"), preview.Count(n-segments, "index object"))
	if err == nil {
		return errFindings
	}
	return err
}

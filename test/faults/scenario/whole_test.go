// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
)

func TestDeleteThatIsNotInTheAuditLogIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		entry proxy.Entry
		want  int
	}{
		"answered and logged":  {proxy.Entry{ID: "logged", Verb: "delete", Answered: 200}, 0},
		"answered, not logged": {proxy.Entry{ID: "lost", Verb: "delete", Answered: 200}, 1},
		"accepted, not logged": {proxy.Entry{ID: "lost", Verb: "delete", Answered: 202}, 1},
		"refused":              {proxy.Entry{ID: "lost", Verb: "delete", Answered: 409}, 0},
		"never answered":       {proxy.Entry{ID: "lost", Verb: "delete", Forwarded: true}, 0},
		"not a DELETE":         {proxy.Entry{ID: "lost", Verb: "patch", Answered: 200}, 0},
	} {
		if got := missing([]proxy.Entry{c.entry}, []history.Request{{ID: "logged"}}); len(got) != c.want {
			t.Errorf("%s: %d are missing, want %d", name, len(got), c.want)
		}
	}
}

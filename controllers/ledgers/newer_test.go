// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// writesNewer adds fields of a newer version to the ledger of a policy; nil removes them.
func (s *server) writesNewer(name string, fields map[string]any) {
	s.set(func() { s.newer = map[string]map[string]any{name: fields} })
}

// TestLedgerOfANewerVersionIsLeftAlone: if a ledger has fields of a newer version, at startup or later, Sunset does not
// write it, and its policy deletes nothing. Other policies continue. Without the fields deletions resume.
func TestLedgerOfANewerVersionIsLeftAlone(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"an unknown field":           {"reserved": int64(3)},
		"an unknown nested field":    {"total": map[string]any{"deleted": int64(0), "gone": int64(0), "refused": int64(1)}},
		"a field of another type":    {"total": "3 and 4"},
		"an unknown field in a list": {"open": []any{map[string]any{"rule": "r", "apiVersion": "v1", "kind": "Pod", "cluster": "b", "objects": []any{}}}},
	} {
		for when, before := range map[string]bool{"from the start": true, "later": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				inBubble(t, func(w *harness) {
					bubble.Pass(time.Second)
					w.use(policyOf("p", nil), policyOf("q", nil))
					bubble.Pass(time.Second)
					if !before {
						w.writesNewer("uid-q", fields)
						w.edit("uid-q", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { return l })
					}
					written := w.stored("uid-q").ResourceVersion
					w.add("team-a", "other-", 3, 0)
					w.add("team-a", "job-", 3, 0)
					bubble.Pass(30 * time.Second)
					w.is(3, 0)
					if n := len(w.names()); n != 3 {
						t.Errorf("removed %q", w.names())
					}
					if now := w.stored("uid-q").ResourceVersion; now != written {
						t.Errorf("the ledger was written: resourceVersion %s, then %s", written, now)
					}
					if s, _ := w.State("uid-q"); !errors.Is(s.WriteError, ledgers.ErrNewer) {
						t.Errorf("WriteError is %v", s.WriteError)
					}
					w.writesNewer("uid-q", nil)
					bubble.Pass(5 * time.Second)
					if before { // a ledger that was not sealed at startup needs a restart
						w.endedWith(ledgers.ErrLate)
						return
					}
					expect.Equal(t, "deleted after the fields were removed", 3, w.stored("uid-q").Total.Deleted)
				}, func(w *harness) {
					w.ledgerOf("p")
					w.ledgerOf("q")
					if before {
						w.newer = map[string]map[string]any{"uid-q": fields}
					}
				})
			})
		}
	}
}

// TestLedgerOfAnotherShapeGoesWithItsPolicy: if a ledger has a field of another type, it is deleted when its policy is,
// and not before. A ledger that does not name its policy is kept.
func TestLedgerOfAnotherShapeGoesWithItsPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		fields map[string]any
		stays  bool
	}{
		"the counters":     {map[string]any{"total": "3 and 4"}, false},
		"the open entries": {map[string]any{"open": map[string]any{"cluster": "b"}}, false},
		"the policy":       {map[string]any{"policy": "p"}, true},
		"the policy's UID": {map[string]any{"policy": map[string]any{"kind": "ClusterRetentionPolicy", "name": "p", "uid": int64(7)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				bubble.Pass(5 * time.Second)
				w.writesNewer("uid-p", test.fields)
				w.removePolicy(t, "uid-p")
				expect.Equal(t, "ledger exists", test.stays, w.stored("uid-p") != nil)
				if s, known := w.State("uid-p"); known != test.stays || known && s.WriteError == nil {
					t.Errorf("the worker still runs: %t; its error is %v", known, s.WriteError)
				}
			})
		})
	}
}

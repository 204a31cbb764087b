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

// writesNewer has a newer version write a field into the ledger of a policy; nil takes it back.
func (s *server) writesNewer(name string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newer = map[string]map[string]any{name: fields}
}

// A ledger of a newer version keeps everything of its policy, is not written, and stops no other, whether it was there when
// Sunset began or is changed later. Without the field things go on.
func TestALedgerOfANewerVersionIsLeftAlone(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"a field":           {"reserved": int64(3)},
		"a field below":     {"total": map[string]any{"deleted": int64(0), "gone": int64(0), "refused": int64(1)}},
		"another shape":     {"total": "3 and 4"},
		"a field in a list": {"open": []any{map[string]any{"rule": "r", "apiVersion": "v1", "kind": "Pod", "cluster": "b", "objects": []any{}}}},
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
						t.Errorf("it was written: version %s, then %s", written, now)
					}
					if s, _ := w.State("uid-q"); !errors.Is(s.Trouble, ledgers.ErrNewer) {
						t.Errorf("trouble %v", s.Trouble)
					}
					w.writesNewer("uid-q", nil)
					bubble.Pass(5 * time.Second)
					if before { // what was not sealed at the start begins with a new process
						w.endedWith(ledgers.ErrLate)
						return
					}
					expect.Equal(t, "removed after it was mended", 3, w.stored("uid-q").Total.Deleted)
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

// A ledger that is of another shape goes with its policy, and not before; one that does not say whose it is stays.
func TestALedgerOfAnotherShapeGoesWithItsPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		fields map[string]any
		stays  bool
	}{
		"what it counts":   {map[string]any{"total": "3 and 4"}, false},
		"what is open":     {map[string]any{"open": map[string]any{"cluster": "b"}}, false},
		"whose it is":      {map[string]any{"policy": "p"}, true},
		"the policy's UID": {map[string]any{"policy": map[string]any{"kind": "ClusterRetentionPolicy", "name": "p", "uid": int64(7)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				bubble.Pass(5 * time.Second)
				w.writesNewer("uid-p", test.fields)
				w.removePolicy(t, "uid-p")
				expect.Equal(t, "it is there", test.stays, w.stored("uid-p") != nil)
				if s, known := w.State("uid-p"); known != test.stays || known && s.Trouble == nil {
					t.Errorf("its account is kept: %t, with trouble %v", known, s.Trouble)
				}
			})
		})
	}
}

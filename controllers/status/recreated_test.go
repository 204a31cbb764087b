// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestRecreatedConditionNamesObjects: the condition names the first objects, an Event reports it once, and it ends when the objects
// are no longer re-created.
func TestRecreatedConditionNamesObjects(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		kind := func(e int, n int) []*index.FactRow {
			start := time.Now().Add(-2 * time.Hour)
			var rows []*index.FactRow
			for i := range n {
				s := policy.Subject{Namespace: "team-a", Name: fmt.Sprint("loop-", i), UID: types.UID(fmt.Sprint(e, i)), ResourceVersion: "1", Created: start, Flags: policy.IsRecreated}
				rows = append(rows, packed(s, yes(start), policy.Facts{}))
			}
			return append(rows, row("fine", time.Now(), yes(time.Now()), policy.Facts{}))
		}
		e := compiledOf(policyOf(v1alpha1.Enforce, rule("a"), rule("b")))
		w.store(named(e, "p"), noStatus)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now(), kind(1, 5)...)} })
		w.Use(e)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "condition", "True Recreated", condition(w.status(), v1alpha1.ConditionRecreated))
		if said := message(w.status(), v1alpha1.ConditionRecreated); !strings.Contains(said, "rule a keeps 5 Job, such as team-a/loop-0, team-a/loop-1, team-a/loop-2: ") {
			t.Errorf("the message is %q", said)
		}
		expect.Equal(t, "due", int64(0), w.status().Due.Now)
		events := strings.Join(w.events(), "\n")
		if n := strings.Count(events, "Warning Recreated: rule a keeps 5 Job, such as team-a/loop-0"); n != 1 {
			t.Errorf("%d Events in\n%s", n, events)
		}
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now(), kind(2, 0)...)} })
		w.Changed()
		bubble.Pass(time.Minute)
		expect.Equal(t, "still there", "", message(w.status(), v1alpha1.ConditionRecreated))
		if events := strings.Join(w.events(), "\n"); strings.Count(events, "RecreatedResolved") != 1 {
			t.Errorf("its end is not reported once:\n%s", events)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// refuseStuck makes the API server answer 500 to every DELETE of an object whose name begins with "stuck", and keep the
// object.
func (w *harness) refuseStuck() {
	w.answer = func(o *object) *retention.Outcome {
		if strings.HasPrefix(o.name, "stuck") {
			return &retention.Outcome{Unsure: true, Result: retention.Busy, Err: errors.New("webhook: 500")}
		}
		return nil
	}
}

func (w *harness) left(prefix string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.objects {
		if strings.HasPrefix(o.name, prefix) {
			n++
		}
	}
	return n
}

// TestStuckObjectsDoNotUseUpLimits: as many objects as limits allow answer every DELETE with 500.
func TestStuckObjectsDoNotUseUpLimits(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(10)))
		w.refuseStuck()
		w.add("team-a", "stuck-", 10, 0)
		bubble.Pass(10 * time.Second)
		w.add("team-a", "good-", 30, 0)
		bubble.Pass(10 * time.Minute)
		if n := w.left("good-"); n != 30 {
			t.Fatalf("%d of 30 other objects were deleted while a DELETE may still take effect", 30-n)
		}
		bubble.Pass(20 * time.Minute)
		if n := w.left("good-"); n > 0 {
			t.Errorf("%d of 30 other objects exist after half an hour", n)
		}
		expect.Equal(t, "existing stuck objects", 10, w.left("stuck-"))
		w.set(func() { w.answer = nil })
		bubble.Pass(2 * time.Hour)
		w.is(40, 0)
	})
}

// TestStuckObjectsAreRetriedWithBackoff counts the DELETEs of one stuck object in a day.
func TestStuckObjectsAreRetriedWithBackoff(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(10)))
		w.refuseStuck()
		refuse, tries, last := w.answer, 0, time.Duration(0)
		w.answer = func(o *object) *retention.Outcome {
			if tries++; time.Since(w.began)-last > 5*time.Minute {
				t.Logf("retried after %s", time.Since(w.began).Round(time.Minute))
			}
			last = time.Since(w.began)
			return refuse(o)
		}
		w.add("team-a", "stuck-", 1, 0)
		bubble.Pass(10 * time.Minute)
		first := tries
		bubble.Pass(24 * time.Hour)
		if rounds := (tries - first) / first; first == 0 || rounds < 2 || rounds > 8 {
			t.Errorf("%d DELETEs in the first 10 minutes, %d in the day after", first, tries-first)
		}
	})
}

// TestNamespaceOfStuckObjectsLeavesRoomToOthers: 2,500 objects of one namespace answer every DELETE with 500.
func TestNamespaceOfStuckObjectsLeavesRoomToOthers(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.refuseStuck()
		w.add("team-a", "stuck-", 2500, 0)
		bubble.Pass(time.Minute)
		began := time.Now()
		w.add("team-b", "good-", 300, 0)
		for w.left("good-") > 0 && time.Since(began) < time.Minute {
			bubble.Pass(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("300 objects of another namespace took %s", took)
		}
		if l := w.stored("uid-p"); l.Total.Deleted != 300 {
			bubble.Pass(2 * time.Second)
		}
		for _, group := range w.stored("uid-p").Open {
			if n := len(group.Objects); n > (ledger.MaxOpen+ledger.MaxDoubtful)/2+ledger.MaxOpen {
				t.Errorf("%d entries of %s are open", n, group.Namespace)
			}
		}
	})
}

// TestEntryStaysInDoubtWithoutReadPermission: State says why, and the entry ends once the permission exists.
func TestEntryStaysInDoubtWithoutReadPermission(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(1)))
		w.refuseStuck()
		w.unreadable = true
		w.add("team-a", "stuck-", 1, 0)
		bubble.Pass(time.Hour)
		w.add("team-b", "good-", 1, 0)
		bubble.Pass(time.Minute)
		w.is(0, 0, "stuck-0")
		if s, _ := w.State("uid-p"); s.ReadError == nil || !strings.Contains(s.ReadError.Error(), `read Job "stuck-0" in namespace "team-a"`) {
			t.Errorf("ReadError is %v", s.ReadError)
		}
		w.set(func() { w.unreadable = false })
		bubble.Pass(5 * time.Minute)
		w.is(1, 0)
		if s, _ := w.State("uid-p"); s.ReadError != nil {
			t.Errorf("ReadError is still %v", s.ReadError)
		}
	})
}

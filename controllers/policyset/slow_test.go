// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/test/expect"
)

// slowly runs a test with the reconciler of oneEnforced and a slow API server, in a bubble.
func slowly(t *testing.T, takes func(path string) time.Duration, test func(t *testing.T, l *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := oneEnforced(t)
		l.Clock, l.dates = clock.RealClock{}, time.Now
		l.takes = takes
		test(t, l)
	})
}

func always(d time.Duration) func(string) time.Duration {
	return func(string) time.Duration { return d }
}

// maxAge is how long a response counts.
const maxAge = time.Second

// under makes only reads of paths with a prefix slow.
func under(prefix string, d time.Duration) func(string) time.Duration {
	return func(path string) time.Duration {
		if strings.HasPrefix(path, prefix) {
			return d
		}
		return 0
	}
}

// TestCheckSendsRequestsInParallel, because the first result of sequential reads would be too old when the last one
// arrives.
func TestCheckSendsRequestsInParallel(t *testing.T) {
	slowly(t, always(time.Second), func(t *testing.T, l *harness) {
		began := time.Now()
		expect.Equal(t, "rules", enforced, l.allowed("team-a"))
		expect.Equal(t, "took", time.Second, time.Since(began))
		once := map[string]int{"clusterretentionpolicies": 1, "clusterretentionapprovals": 1, "retentionpolicies": 1, "retentionapprovals": 1, "namespaces/team-a": 1}
		expect.Equal(t, "requests", once, l.asked())
	})
}

// TestPoliciesThatGrewOldWhileANamespaceWasReadAreReadAgain: the second read shows an edit from the time of the first.
func TestPoliciesThatGrewOldWhileANamespaceWasReadAreReadAgain(t *testing.T) {
	slowly(t, under(namespacesPath, 2*time.Second), func(t *testing.T, l *harness) {
		l.allowed("")
		time.AfterFunc(500*time.Millisecond, func() { l.policy("p", spec("Suspend", "1h")) })
		expect.Equal(t, "rules", []string{"p/jobs Suspend 1h"}, l.allowed("team-a"))
	})
}

// TestNamespaceThatGrewOldWhilePoliciesWereReadIsReadAgain, and only the namespace.
func TestNamespaceThatGrewOldWhilePoliciesWereReadIsReadAgain(t *testing.T) {
	slowly(t, under(apiPath, 2900*time.Millisecond), func(t *testing.T, l *harness) {
		time.AfterFunc(2*time.Second, func() { l.hold("team-a", "true") })
		l.allowed("team-a")
		expect.Equal(t, "held", true, l.snapshot().Effective(jobs, "team-a").Held)
		again := map[string]int{"clusterretentionpolicies": 1, "clusterretentionapprovals": 1, "retentionpolicies": 1, "retentionapprovals": 1, "namespaces/team-a": 2}
		expect.Equal(t, "requests", again, l.asked())
	})
}

// TestCheckUsesPrefetchedReads at the time for which it was read, and no deletion before that waits for it.
func TestCheckUsesPrefetchedReads(t *testing.T) {
	slowly(t, always(0), func(t *testing.T, l *harness) {
		l.allowed("team-a")
		l.asked()
		l.takes = always(300 * time.Millisecond)
		time.Sleep(600 * time.Millisecond)
		go l.Prefetch(t.Context(), "team-a", time.Now().Add(500*time.Millisecond))
		synctest.Wait()
		began := time.Now()
		l.allowed("team-a")
		expect.Equal(t, "waited during the read", 0, time.Since(began))
		time.Sleep(500 * time.Millisecond)
		began = time.Now()
		l.allowed("team-a")
		expect.Equal(t, "waited after it", 0, time.Since(began))
		once := map[string]int{"clusterretentionpolicies": 1, "clusterretentionapprovals": 1, "retentionpolicies": 1, "retentionapprovals": 1, "namespaces/team-a": 1}
		expect.Equal(t, "requests", once, l.asked())
		l.Prefetch(t.Context(), "team-a", time.Now().Add(500*time.Millisecond))
		expect.Equal(t, "requests while the responses are fresh", map[string]int{}, l.asked())
	})
}

// TestReadInAdvanceThatFails: the next check reads again, and reports the error.
func TestReadInAdvanceThatFails(t *testing.T) {
	slowly(t, always(0), func(t *testing.T, l *harness) {
		l.allowed("team-a")
		l.fail = about("retentionpolicies", statusError(http.StatusInternalServerError))
		l.Prefetch(t.Context(), "team-a", time.Now().Add(2*time.Second))
		if _, err := l.check("team-a"); err == nil {
			t.Error("allowed")
		}
		l.fail = nil
		expect.Equal(t, "rules", enforced, l.allowed("team-a"))
	})
}

// TestPrefetchNeedsLeadership: a standby deletes nothing.
func TestPrefetchNeedsLeadership(t *testing.T) {
	slowly(t, always(0), func(t *testing.T, l *harness) {
		l.leadership = errors.New("not the leader")
		l.Prefetch(t.Context(), "team-a", time.Now().Add(2*time.Second))
		expect.Equal(t, "requests", map[string]int{}, l.asked())
	})
}

func TestPoliciesThatGrewOldAndCannotBeReadAgainAllowNothing(t *testing.T) {
	slowly(t, under(namespacesPath, 1500*time.Millisecond), func(t *testing.T, l *harness) {
		l.allowed("")
		l.fail = about("retentionpolicies", statusError(http.StatusInternalServerError))
		if _, err := l.check("team-a"); err == nil {
			t.Error("allowed")
		}
	})
}

// TestWrongClockCountsAsLongAsItsAnswer, even if another response has the correct time.
func TestWrongClockCountsAsLongAsItsAnswer(t *testing.T) {
	slowly(t, always(0), func(t *testing.T, l *harness) {
		l.skewed = time.Minute
		for _, namespace := range []string{"team-a", "team-b"} {
			if _, err := l.check(namespace); err == nil {
				t.Errorf("allowed in %s", namespace)
			}
			l.skewed = 0
		}
		time.Sleep(maxAge + 1)
		l.allowed("team-b")
	})
}

// TestEditWhileAnEditIsReadIsSeen: the list that showed the first edit is old by the time that edit is read.
func TestEditWhileAnEditIsReadIsSeen(t *testing.T) {
	slowly(t, always(1100*time.Millisecond), func(t *testing.T, l *harness) {
		l.policy("p", spec("Enforce", "2d"))
		time.AfterFunc(2*time.Second, func() { l.policy("p", spec("Suspend", "1h")) })
		expect.Equal(t, "rules", []string{"p/jobs Suspend 1h"}, l.allowed("team-a"))
	})
}

// TestReadThatTakesTooLongIsNone: no deletion relies on a state that may be seconds old.
func TestReadThatTakesTooLongIsNone(t *testing.T) {
	slowly(t, always(4*time.Second), func(t *testing.T, l *harness) {
		_, err := l.check("team-a")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestNamespacesThatTakeLongAreReadInOneList, because few single reads fit in a second.
func TestNamespacesThatTakeLongAreReadInOneList(t *testing.T) {
	slowly(t, under(namespacesPath, 200*time.Millisecond), func(t *testing.T, l *harness) {
		const namespaces = 50
		for i := range namespaces {
			l.namespace(fmt.Sprint("ns-", i), nil)
		}
		began := time.Now()
		for i := range namespaces {
			l.allowed(fmt.Sprint("ns-", i))
		}
		expect.Equal(t, "lists", 1, l.asked()["namespaces"])
		expect.Equal(t, "took", 400*time.Millisecond, time.Since(began))
	})
}

// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// quotas are ResourceQuotas by NAMESPACE/NAME.
type quotas map[string]corev1.ResourceQuotaSpec

// bounding returns a reconciler with a policy whose rule about Jobs keeps up to half of the quota.
func bounding(t *testing.T, known quotas) *harness {
	t.Helper()
	s := newServer()
	for name, spec := range known {
		s.quota(name, spec)
	}
	s.policy("p", strings.Replace(spec("Enforce", "1h"), "ttl: 1h", "capacity: {percentOfQuota: 50}", 1))
	return newHarness(t, s)
}

// hard returns a ResourceQuota from RESOURCE=QUANTITY.
func hard(limits ...string) corev1.ResourceQuotaSpec {
	spec := corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}
	for _, limit := range limits {
		name, quantity, _ := strings.Cut(limit, "=")
		spec.Hard[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return spec
}

func scoped(spec corev1.ResourceQuotaSpec) corev1.ResourceQuotaSpec {
	spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	return spec
}

func selected(spec corev1.ResourceQuotaSpec) corev1.ResourceQuotaSpec {
	spec.ScopeSelector = &corev1.ScopeSelector{}
	return spec
}

// capacity returns how many Jobs may stay in a namespace; -1 for any number.
func (l *harness) capacity(namespace string) int {
	l.t.Helper()
	rules := l.snapshot().Effective(jobs, namespace).Rules
	if len(rules) != 1 {
		l.t.Fatalf("%d rules", len(rules))
	}
	if c := rules[0].Capacity; c.Bounded {
		return c.Max
	}
	return -1
}

func TestCapacityFollowsQuotas(t *testing.T) {
	tests := map[string]struct {
		quotas quotas
		want   int
	}{
		"none":                             {nil, -1},
		"one":                              {quotas{"team-a/q": hard("count/jobs.batch=10")}, 5},
		"none are allowed":                 {quotas{"team-a/q": hard("count/jobs.batch=0")}, 0},
		"in thousands":                     {quotas{"team-a/q": hard("count/jobs.batch=2k")}, 1000},
		"the lowest of several":            {quotas{"team-a/q": hard("count/jobs.batch=10"), "team-a/r": hard("count/jobs.batch=4"), "team-a/s": hard("count/jobs.batch=6")}, 2},
		"of other kinds":                   {quotas{"team-a/q": hard("count/pods=10", "pods=3", "cpu=4", "count/jobs.example.org=7")}, -1},
		"of the same name, without count/": {quotas{"team-a/q": hard("jobs.batch=10")}, -1},
		"of another namespace":             {quotas{"team-b/q": hard("count/jobs.batch=10")}, -1},
		"with a scope":                     {quotas{"team-a/q": scoped(hard("count/jobs.batch=10"))}, -1},
		"with a scope selector":            {quotas{"team-a/q": selected(hard("count/jobs.batch=10"))}, -1},
		"with a scope, and one without":    {quotas{"team-a/q": scoped(hard("count/jobs.batch=10")), "team-a/r": hard("count/jobs.batch=20")}, 10},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := bounding(t, test.quotas)
			expect.Equal(t, "room before quotas were read", -1, l.capacity("team-a"))
			l.allowed("team-a")
			expect.Equal(t, "room", test.want, l.capacity("team-a"))
		})
	}
}

func TestObjectsThatAQuotaCountsUnderTheirOwnName(t *testing.T) {
	s := newServer()
	s.quota("team-a/q", hard("pods=10", "count/configmaps=6"))
	pods := strings.Replace(spec("Enforce", "1h"), "ttl: 1h", "capacity: {percentOfQuota: 50}", 1)
	s.policy("p", strings.Replace(pods, "apiVersion: batch/v1, kind: Job", "apiVersion: v1, kind: Pod", 1))
	l := newHarness(t, s)
	l.allowed("team-a")
	expect.Equal(t, "room for Pods", policy.Capacity{Bounded: true, ByQuota: true, Percent: 50, Max: 5},
		l.snapshot().Effective(schemaGroupKind("", "Pod"), "team-a").Rules[0].Capacity)
}

func TestQuotasAreReadRightBeforeADeletion(t *testing.T) {
	l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
	l.allowed("team-a")
	expect.Equal(t, "requests", 1, l.asked()["namespaces/team-a/resourcequotas"])
	for range 10 {
		l.allowed("team-a")
	}
	expect.Equal(t, "requests within a second", map[string]int{}, l.asked())
	editions := len(l.published)

	l.quota("team-a/q", hard("count/jobs.batch=20"))
	l.quota("team-b/q", hard("count/jobs.batch=2"))
	l.later(time.Second + 1)
	l.allowed("team-a")
	expect.Equal(t, "room after an edit", 10, l.capacity("team-a"))
	expect.Equal(t, "snapshots after an edit", editions+1, len(l.published))
	l.allowed("team-b")
	expect.Equal(t, "room in another namespace", 1, l.capacity("team-b"))
	expect.Equal(t, "room still", 10, l.capacity("team-a"))

	l.removeQuota("team-a/q")
	l.later(time.Second + 1)
	l.allowed("team-a")
	expect.Equal(t, "room without a quota", -1, l.capacity("team-a"))
	expect.Equal(t, "room in the other namespace", 1, l.capacity("team-b"))
}

// TestAgeOfQuotasCounts: a deletion that relies on quotas is not sent if they are the oldest response, and too old.
func TestAgeOfQuotasCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
		l.Clock, l.dates = clock.RealClock{}, time.Now
		const others = 900 * time.Millisecond
		l.takes = func(path string) time.Duration {
			if strings.HasSuffix(path, "/resourcequotas") {
				return 0
			}
			return others
		}
		began := time.Now()
		since, err := l.Check(t.Context(), "team-a")
		expect.Equal(t, "error", nil, err)
		expect.Equal(t, "took", others, time.Since(began))
		expect.Equal(t, "age of the oldest response", others, time.Since(since))
	})
}

// TestQuotasAreReadOnlyForRulesThatAsk, and not for cluster-scoped objects, which have none.
func TestQuotasAreReadOnlyForRulesThatAsk(t *testing.T) {
	for namespace, l := range map[string]*harness{"team-a": oneEnforced(t), "": bounding(t, nil)} {
		l.allowed(namespace)
		for path := range l.asked() {
			if strings.Contains(path, "quota") {
				t.Errorf("read %s", path)
			}
		}
	}
}

// TestUnreadableQuotasBindNothing: rules that use quotas keep their objects, and other rules still delete.
func TestUnreadableQuotasBindNothing(t *testing.T) {
	l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
	l.allowed("team-a")
	l.counted("p")
	for name, err := range map[string]error{"lost": errors.New("connection refused"), "forbidden": statusError(http.StatusForbidden)} {
		l.fail = about("resourcequotas", err)
		l.later(2 * time.Second)
		l.allowed("team-a")
		expect.Equal(t, name+", room", -1, l.capacity("team-a"))
		expect.Equal(t, name+", waiting", free, l.waiting("team-a"))
	}
	l.fail = nil
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "room", 5, l.capacity("team-a"))
}

// TestListThatLacksQuotasBindsNothing: quotas that appear later do not count as reduced quotas, which would wait for approval.
func TestListThatLacksQuotasBindsNothing(t *testing.T) {
	for name, metadata := range map[string]map[string]any{
		"it has a continue token":       {"resourceVersion": "999", "continue": "more"},
		"it has a remaining item count": {"resourceVersion": "999", "remainingItemCount": 7},
		"it is not a list":              {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
				l.said = saying("/resourcequotas", map[string]any{"metadata": metadata, "items": []any{}})
				stop := following(t, l)
				l.allowed("team-a")
				expect.Equal(t, "room", -1, l.capacity("team-a"))
				expect.Equal(t, "QuotaError is set", true, l.last().QuotaError != nil)
				l.counted("p")

				l.said = nil
				l.later(15 * time.Second)
				synctest.Wait()
				expect.Equal(t, "room by the complete list", 5, l.capacity("team-a"))
				expect.Equal(t, "QuotaError is removed", nil, l.last().QuotaError)
				if gate := l.snapshot().Policies()[0].Gate; gate != nil {
					t.Errorf("waits for approval: %v", gate)
				}
				stop()
			})
		})
	}
}

// TestQuotaThatShrinksWhileQuotasAreUnreadableIsCounted: in between, no object was beyond the capacity.
func TestQuotaThatShrinksWhileQuotasAreUnreadableIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
		stop := following(t, l)
		read := func(fail func(string) error) {
			l.set(func() { l.fail = fail })
			l.later(15 * time.Second)
			synctest.Wait()
		}
		read(nil)
		l.counted("p")
		expect.Equal(t, "room", 5, l.capacity("team-a"))
		read(func(string) error { return errors.New("connection refused") })
		expect.Equal(t, "room while quotas cannot be read", -1, l.capacity("team-a"))
		l.counted("p")
		l.quota("team-a/q", hard("count/jobs.batch=2"))
		read(nil)
		expect.Equal(t, "room by the reduced quota", 1, l.capacity("team-a"))
		expect.Equal(t, "waiting", waits, l.waiting("team-a"))
		stop()
	})
}

// TestNamespaceWithAQuotaIsNoNews: a known quota does not change the known labels of the namespace.
func TestNamespaceWithAQuotaIsNoNews(t *testing.T) {
	l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
	l.allowed("team-a")
	editions := len(l.published)
	l.namespace("team-a", nil) // another resourceVersion
	l.refresh()
	expect.Equal(t, "snapshots", editions, len(l.published))
	expect.Equal(t, "room", 5, l.capacity("team-a"))
}

func TestQuotasAreFollowedWhileNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
		stop := following(t, l)
		later := func() {
			l.later(15 * time.Second)
			synctest.Wait()
		}
		synctest.Wait()
		expect.Equal(t, "room", 5, l.capacity("team-a"))
		expect.Equal(t, "requests at the start of the loop, and because a rule needs them", map[string]int{"resourcequotas": 2}, l.asked())

		l.quota("team-a/q", hard("count/jobs.batch=20"))
		l.quota("team-b/q", hard("count/jobs.batch=4"))
		later()
		expect.Equal(t, "room after an edit", 10, l.capacity("team-a"))
		expect.Equal(t, "room in another namespace", 2, l.capacity("team-b"))

		l.fail = func(string) error { return errors.New("connection refused") }
		later()
		expect.Equal(t, "room without a response", -1, l.capacity("team-a"))
		expect.Equal(t, "QuotaError is set", true, l.last().QuotaError != nil)
		l.fail = nil
		l.removeQuota("team-a/q")
		later()
		expect.Equal(t, "room without a quota", -1, l.capacity("team-a"))
		expect.Equal(t, "QuotaError is removed", nil, l.last().QuotaError)
		editions := len(l.published)
		later()
		expect.Equal(t, "snapshots", editions, len(l.published))

		l.removePolicy("p")
		l.refresh()
		l.asked()
		later()
		expect.Equal(t, "requests when no rule uses quotas", map[string]int{}, l.asked())
		stop()
	})
}

// following runs the loop that reads all ResourceQuotas concurrently with a test in a bubble, until the test or stop ends it.
func following(t *testing.T, l *harness) (stop func()) {
	return bubble.Start(t, func(ctx context.Context) error { return policyset.FollowQuotas(l.Reconciler, ctx) })
}

// noQuotas fails reads of the quotas of team-a only.
var noQuotas = about("/team-a/resourcequotas", errors.New("timeout"))

// TestQuotaThatCannotBeReadHasNotBeenTakenAway: objects that wait for a count keep waiting, and are compared with the previous
// quota.
func TestQuotaThatCannotBeReadHasNotBeenTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=10")})
		defer following(t, l)()
		l.allowed("team-a")
		l.counted("p")
		trouble := func() error { return l.last().QuotaError }
		for range 2 {
			l.set(func() { l.fail = noQuotas })
			l.later(2 * time.Second)
			l.allowed("team-a")
			expect.Equal(t, "room", -1, l.capacity("team-a"))
			if trouble() == nil {
				t.Fatal("QuotaError does not show that the quota is unknown")
			}
			l.set(func() { l.fail = nil })
			l.later(2 * time.Second)
			l.allowed("team-a")
			expect.Equal(t, "room", 5, l.capacity("team-a"))
			expect.Equal(t, "trouble", nil, trouble())
		}
		l.set(func() { l.fail = noQuotas })
		l.later(2 * time.Second)
		l.allowed("team-a")
		l.later(15 * time.Second) // nothing is due there now, so that only the list of all is read
		synctest.Wait()
		expect.Equal(t, "QuotaTrouble after the list of all", nil, trouble())
	})
}

// TestListOfAllQuotasReplacesNoLaterAnswer: the list takes long, and a deletion relies on the later response.
func TestListOfAllQuotasReplacesNoLaterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bounding(t, quotas{"team-a/q": hard("count/jobs.batch=100")})
		defer following(t, l)()
		l.set(func() { l.takes = under("/api/v1/resourcequotas", 2*time.Second) })
		l.later(15 * time.Second)
		synctest.Wait() // the list is in progress
		l.quota("team-a/q", hard("count/jobs.batch=10"))
		l.later(time.Second)
		l.allowed("team-a")
		expect.Equal(t, "room by the later response", 5, l.capacity("team-a"))
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "room after the older list has arrived", 5, l.capacity("team-a"))
		l.later(15 * time.Second)
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "room by the next list", 5, l.capacity("team-a"))

		l.set(func() { l.fail = about("/api/v1/resourcequotas", errors.New("timeout")) })
		l.later(15 * time.Second)
		synctest.Wait()
		l.allowed("team-a")
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "room after an older list has failed", 5, l.capacity("team-a"))
		expect.Equal(t, "QuotaError is set", true, l.last().QuotaError != nil)
	})
}

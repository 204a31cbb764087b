// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// looking is a Refresher in a bubble, with the rules to check.
type looking struct {
	*permissions.Refresher
	*server
	rules   []*policy.Rule
	prefers []schema.GroupVersion // of Jobs, the preferred one first; none if discovery fails
	changes int                   // the mutex of the server guards all
}

func (l *looking) discover(context.Context) (meta.RESTMapper, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.prefers) == 0 {
		return nil, errors.New("connection refused")
	}
	mapper := meta.NewDefaultRESTMapper(l.prefers)
	for _, version := range l.prefers {
		mapper.Add(version.WithKind("Job"), meta.RESTScopeNamespace)
	}
	return mapper, nil
}

// discovers sets the versions of Jobs that the API server serves, the preferred one first.
func (l *looking) discovers(versions ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefers = nil
	for _, version := range versions {
		l.prefers = append(l.prefers, schema.GroupVersion{Group: "batch", Version: version})
	}
}

func (l *looking) use(rules ...*policy.Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
}

// looksAfter runs a test with a started Refresher.
func looksAfter(t *testing.T, test func(t *testing.T, l *looking), rules ...*policy.Rule) {
	looksSlowly(t, 0, test, rules...)
}

// looksSlowly is looksAfter with a server that takes this long for each answer.
func looksSlowly(t *testing.T, takes time.Duration, test func(t *testing.T, l *looking), rules ...*policy.Rule) {
	synctest.Test(t, func(t *testing.T) {
		l := &looking{server: &server{takes: takes}}
		l.use(rules...)
		l.discovers("v1")
		l.Refresher = &permissions.Refresher{
			Checker: newChecker(l.server, clock.RealClock{}),
			Rules: func() []*policy.Rule {
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.rules
			},
			Changed: func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.changes++
			},
			Discover: l.discover,
		}
		stop := bubble.Start(t, l.Start)
		test(t, l)
		stop()
	})
}

// reported waits for a time, and returns the number of calls of Changed since its last call.
func (l *looking) reported(d time.Duration) int {
	bubble.Pass(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.changes
	l.changes = 0
	return n
}

func TestRefresherReportsChanges(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		expect.Equal(t, "the first answer", 1, l.reported(0))
		expect.Equal(t, "nothing new", 0, l.reported(time.Hour))
		l.deny("delete")
		expect.Equal(t, "a permission is revoked", 1, l.reported(time.Minute+10*time.Second))
		expect.Equal(t, "it stays revoked", 0, l.reported(time.Hour))
		l.deny("delete", "list")
		expect.Equal(t, "another one is revoked", 1, l.reported(10*time.Second))
		l.failing(errors.New("connection refused"))
		expect.Equal(t, "no answer", 1, l.reported(10*time.Second))
		l.failing(nil)
		l.deny()
		expect.Equal(t, "all permissions are granted again", 1, l.reported(10*time.Second))
	}, rule())
}

// TestRefresherReportsChangesThatDeletionsFind: the loop finds the new answer in the cache.
func TestRefresherReportsChangesThatDeletionsFind(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.reported(5 * time.Second)
		l.deny("delete")
		if _, err := l.Check(t.Context(), rule()); !errors.Is(err, preflight.ErrPermission) {
			t.Errorf("permitted: %v", err)
		}
		expect.Equal(t, "changes", 1, l.reported(10*time.Second))
	}, rule())
}

// TestRecoveredReviewIsPublished: in a snapshot that was published during the failure, the rule lacks its permissions.
func TestRecoveredReviewIsPublished(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.reported(5 * time.Second)
		l.failing(errors.New("connection refused"))
		if _, err := l.Check(t.Context(), rule()); err == nil {
			t.Error("permitted without an answer")
		}
		l.failing(nil)
		time.Sleep(2 * time.Second)
		if _, err := l.Check(t.Context(), rule()); err != nil {
			t.Error(err)
		}
		expect.Equal(t, "changes", 1, l.reported(10*time.Second))
		expect.Equal(t, "later changes", 0, l.reported(time.Hour))
	}, rule())
}

func TestRefresherFollowsTheRules(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		expect.Equal(t, "without rules", 0, l.reported(time.Minute))
		expect.Equal(t, "asked", nil, l.verbs())
		l.use(rule(), rule(fixture.Marking))
		expect.Equal(t, "with two", 1, l.reported(10*time.Second))
		expect.Equal(t, "asked", []string{"list", "delete", "list", "delete", "patch"}, l.verbs())
	})
}

func TestRefresherIntervals(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.reported(time.Hour)
		if n := len(l.verbs()) / 2; n < 50 || n > 62 {
			t.Errorf("requested a granted permission %d times in an hour", n)
		}
		l.deny("list")
		l.reported(2 * time.Minute)
		l.verbs()
		l.reported(time.Minute)
		expect.Equal(t, "requests in a minute for a missing permission", 6, len(l.verbs())/2)
		expect.Equal(t, "leader only", true, l.NeedLeaderElection())
	}, rule())
}

// TestRefresherManyMissingPermissionsDelayNoOthers: a namespace has 1,000 ServiceAccounts that lack permissions, and each answer takes
// 10 ms.
func TestRefresherManyMissingPermissionsDelayNoOthers(t *testing.T) {
	var all []*policy.Rule
	for i := range 1000 {
		all = append(all, rule(of("account-"+strconv.Itoa(i))))
	}
	looksSlowly(t, 10*time.Millisecond, func(t *testing.T, l *looking) {
		l.deny("delete")
		time.Sleep(time.Minute) // during a round
		own := rule(func(r *policy.Rule) { r.Namespace = "team-b" })
		l.use(append(all, own)...)
		l.Refresh()
		began := time.Now()
		for _, known := l.Known(own); !known; _, known = l.Known(own) {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the first answer for team-b took %s", took)
		}
	}, all...)
}

func TestRefresherFindsThePreferredVersion(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		version := func(want string) {
			t.Helper()
			expect.Equal(t, "preferred version", want, l.Preferred(rule()).Version)
		}
		l.reported(10 * time.Second)
		version("v1")
		l.discovers("v2", "v1")
		expect.Equal(t, "another version is preferred", 1, l.reported(2*time.Minute))
		version("v2")
		l.discovers()
		expect.Equal(t, "no answer", 0, l.reported(time.Hour))
		version("v2")
		l.discovers("v1")
		expect.Equal(t, "v2 is no longer served", 1, l.reported(2*time.Minute))
		version("v1")
	}, rule())
}

// TestRefresherFindsAKindThatIsServedLater: the API server serves the kind of a rule a while after the rule was created.
func TestRefresherFindsAKindThatIsServedLater(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		other := rule()
		other.Kind.Group = "example.com"
		l.use(other)
		l.reported(time.Hour)
		expect.Equal(t, "before", schema.GroupVersionKind{}, l.Preferred(other))
		l.mu.Lock()
		l.prefers = append(l.prefers, schema.GroupVersion{Group: "example.com", Version: "v1"})
		l.mu.Unlock()
		expect.Equal(t, "changes", 1, l.reported(2*time.Minute))
		expect.Equal(t, "after", other.Kind, l.Preferred(other))
	})
}

// hanging is a server that never answers requests about one namespace, for example because of an authorization webhook.
type hanging struct {
	*server
	namespace string
}

func (h hanging) Create(ctx context.Context, r *authorizationv1.SubjectAccessReview, o metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	if r.Spec.ResourceAttributes.Namespace == h.namespace {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.server.Create(ctx, r, o)
}

// TestQuestionWithoutAnAnswerHoldsUpNoOther: it delays neither new questions nor periodic ones.
func TestQuestionWithoutAnAnswerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(fixture.Jobs, meta.RESTScopeNamespace)
		s, silent, other := &server{}, rule(), rule()
		silent.Namespace = "silent"
		l := &permissions.Refresher{
			Checker: permissions.New(hanging{s, "silent"}, mapper, clock.RealClock{}), Changed: func() {}, Discover: func(context.Context) (meta.RESTMapper, error) { return mapper, nil },
			Rules: func() []*policy.Rule { return []*policy.Rule{silent, other} },
		}
		stop := bubble.Start(t, l.Start)
		time.Sleep(time.Minute)
		if err, known := l.Known(other); err != nil || !known {
			t.Errorf("answer for another namespace after a minute: %v, %v", known, err)
		}
		s.deny("delete")
		time.Sleep(3 * time.Minute)
		if err, _ := l.Known(other); !errors.Is(err, preflight.ErrPermission) {
			t.Errorf("three minutes after they are revoked: %v", err)
		}
		stop()
	})
}

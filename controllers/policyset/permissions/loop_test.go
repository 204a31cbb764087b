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
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// looking is a Loop in a bubble that looks after some rules.
type looking struct {
	*permissions.Loop
	*server
	rules   []*policy.Rule
	changes int // both guarded by the server's mutex
}

func (l *looking) use(rules ...*policy.Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
}

// looksAfter runs a test with a Loop that has begun.
func looksAfter(t *testing.T, test func(t *testing.T, l *looking), rules ...*policy.Rule) {
	looksSlowly(t, 0, test, rules...)
}

// looksSlowly is looksAfter where each answer takes a time.
func looksSlowly(t *testing.T, takes time.Duration, test func(t *testing.T, l *looking), rules ...*policy.Rule) {
	synctest.Test(t, func(t *testing.T) {
		l := &looking{server: &server{takes: takes}}
		l.use(rules...)
		l.Loop = &permissions.Loop{
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
		}
		stop := bubble.Start(t, l.Start)
		test(t, l)
		stop()
	})
}

// told is how many changes were told since it was last asked, after some time.
func (l *looking) told(d time.Duration) int {
	bubble.Pass(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.changes
	l.changes = 0
	return n
}

func TestTheLoopTellsChanges(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		expect.Equal(t, "the first answer", 1, l.told(0))
		expect.Equal(t, "nothing new", 0, l.told(time.Hour))
		l.deny("delete")
		expect.Equal(t, "a right is taken away", 1, l.told(time.Minute+10*time.Second))
		expect.Equal(t, "it stays away", 0, l.told(time.Hour))
		l.deny("delete", "list")
		expect.Equal(t, "another one is taken away", 1, l.told(10*time.Second))
		l.failing(errors.New("connection refused"))
		expect.Equal(t, "no answer", 1, l.told(10*time.Second))
		l.failing(nil)
		l.deny()
		expect.Equal(t, "every right is back", 1, l.told(10*time.Second))
	}, rule())
}

// TestAChangeThatADeletionFoundIsTold: the answer is known already when the loop looks.
func TestAChangeThatADeletionFoundIsTold(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.told(5 * time.Second)
		l.deny("delete")
		if _, err := l.Check(t.Context(), rule()); !errors.Is(err, permissions.ErrMissing) {
			t.Errorf("permitted: %v", err)
		}
		expect.Equal(t, "changes", 1, l.told(10*time.Second))
	}, rule())
}

// TestARecoveredReviewIsPublished: a snapshot that was published during the failure has the rule without permission.
func TestARecoveredReviewIsPublished(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.told(5 * time.Second)
		l.failing(errors.New("connection refused"))
		if _, err := l.Check(t.Context(), rule()); err == nil {
			t.Error("permitted without an answer")
		}
		l.failing(nil)
		time.Sleep(2 * time.Second)
		if _, err := l.Check(t.Context(), rule()); err != nil {
			t.Error(err)
		}
		expect.Equal(t, "changes", 1, l.told(10*time.Second))
		expect.Equal(t, "changes after that", 0, l.told(time.Hour))
	}, rule())
}

func TestTheLoopFollowsTheRules(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		expect.Equal(t, "without rules", 0, l.told(time.Minute))
		expect.Equal(t, "asked", nil, l.verbs())
		l.use(rule(), rule(fixture.Marking))
		expect.Equal(t, "with two", 1, l.told(10*time.Second))
		expect.Equal(t, "asked", []string{"list", "delete", "list", "delete", "patch"}, l.verbs())
	})
}

func TestHowOftenTheLoopAsks(t *testing.T) {
	looksAfter(t, func(t *testing.T, l *looking) {
		l.told(time.Hour)
		if n := len(l.verbs()) / 2; n < 50 || n > 62 {
			t.Errorf("asked %d times in an hour for a right that is there", n)
		}
		l.deny("list")
		l.told(2 * time.Minute)
		l.verbs()
		l.told(time.Minute)
		expect.Equal(t, "asked in a minute for a right that is missing", 6, len(l.verbs())/2)
		expect.Equal(t, "leader only", true, l.NeedLeaderElection())
	}, rule())
}

// TestManyRulesWithoutRightsDelayNoOthers: a namespace has 1,000 ServiceAccounts that lack rights, and an answer takes 10 ms.
func TestManyRulesWithoutRightsDelayNoOthers(t *testing.T) {
	var all []*policy.Rule
	for i := range 1000 {
		all = append(all, rule(of("account-"+strconv.Itoa(i))))
	}
	looksSlowly(t, 10*time.Millisecond, func(t *testing.T, l *looking) {
		l.deny("delete")
		time.Sleep(time.Minute) // within a round
		own := rule(func(r *policy.Rule) { r.Namespace = "team-b" })
		l.use(append(all, own)...)
		l.Look()
		began := time.Now()
		for _, known := l.Known(own); !known; _, known = l.Known(own) {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the first answer for team-b took %s", took)
		}
	}, all...)
}

// hanging is a server that never answers about one namespace, as an authorization webhook may.
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

// TestAQuestionWithoutAnAnswerHoldsUpNoOther: neither new questions, nor those that are asked again.
func TestAQuestionWithoutAnAnswerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(fixture.Jobs, meta.RESTScopeNamespace)
		s, silent, other := &server{}, rule(), rule()
		silent.Namespace = "silent"
		l := &permissions.Loop{
			Checker: permissions.New(hanging{s, "silent"}, mapper, clock.RealClock{}), Changed: func() {},
			Rules: func() []*policy.Rule { return []*policy.Rule{silent, other} },
		}
		stop := bubble.Start(t, l.Start)
		time.Sleep(time.Minute)
		if err, known := l.Known(other); err != nil || !known {
			t.Errorf("after a minute the rights of another namespace are known: %v, %v", known, err)
		}
		s.deny("delete")
		time.Sleep(3 * time.Minute)
		if err, _ := l.Known(other); !errors.Is(err, permissions.ErrMissing) {
			t.Errorf("three minutes after they are taken away: %v", err)
		}
		stop()
	})
}

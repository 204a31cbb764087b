// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// ofTeamA makes a rule part of a RetentionPolicy, which acts with the permissions of a ServiceAccount.
func ofTeamA(r *policy.Rule) { r.Namespace, r.ServiceAccount = "team-a", "cleaner" }

// cluster answers the checks of a harness: everything may change, and later checks see the change.
type cluster struct {
	*harness
	rule *policy.Rule

	mu      sync.Mutex
	leads   error  // why this process does not lead
	permits error  // why the rule may not act
	unread  func() // a change of policies or namespaces that only a live read shows
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// check is a live read, which puts in force the change that it finds.
func (c *cluster) check(string) error {
	c.mu.Lock()
	change, err := c.unread, c.leads
	c.unread = nil
	c.mu.Unlock()
	if change != nil {
		change()
	}
	return err
}

func (c *cluster) permit(*policy.Rule) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.permits
}

// use puts other rules in force: at once, or at the next live read.
func (c *cluster) use(live, held bool, rules ...*policy.Rule) {
	snapshot, programs := snapshotOf(rules...)
	if held {
		snapshot = policy.NewSnapshot(snapshot.Policies(), map[string]policy.Namespace{"team-a": {Held: true}}, policy.DefaultProtection())
	}
	put := func() { c.Use(snapshot, programs) }
	if live {
		c.set(func() { c.unread = put })
		return
	}
	put()
}

// other returns the rule with a change.
func (c *cluster) other(change func(*policy.Rule)) *policy.Rule {
	r := *c.rule
	change(&r)
	return &r
}

// changesDuringAttempt are changes that keep a subject. A watch or only a live read shows them.
var changesDuringAttempt = map[string]func(c *cluster, live bool){
	"the policy is suspended":    func(c *cluster, live bool) { c.use(live, false, c.other(fixture.Mode(v1alpha1.Suspend))) },
	"the policy is a dry run":    func(c *cluster, live bool) { c.use(live, false, c.other(fixture.Mode(v1alpha1.DryRun))) },
	"the time to live is longer": func(c *cluster, live bool) { c.use(live, false, c.other(fixture.TTL(1000*time.Hour))) },
	"another policy keeps it": func(c *cluster, live bool) {
		c.use(live, false, c.rule, fixture.Rule("veto", fixture.About(c.rule.Kind), fixture.Mode(v1alpha1.Suspend)))
	},
	"the namespace is held":   func(c *cluster, live bool) { c.use(live, true, c.rule) },
	"another process leads":   func(c *cluster, _ bool) { c.set(func() { c.leads = errors.New("not the leader") }) },
	"a permission is revoked": func(c *cluster, _ bool) { c.set(func() { c.permits = errors.New("forbidden") }) },
	"the object is held": func(c *cluster, _ bool) {
		held := row("x", c.began, version(2), ownedBy("job"))
		held.Flags |= policy.IsHeld
		c.source(0).apply(held)
	},
}

// stopsMarks has the changes that also keep a rule from marking. Held subjects, and those that another rule keeps, are
// marked.
var stopsMarks = map[string]bool{
	"the policy is suspended": true, "the policy is a dry run": true, "another process leads": true, "a permission is revoked": true,
}

// requests are the requests that may be sent, each with a slow step before it during which a change happens.
var requests = map[string]struct {
	options []func(*policy.Rule)
	row     func(*draft)
	slow    func(c *cluster, happens func())
}{
	"the DELETE of an owner":  {[]func(*policy.Rule){owners, ofTeamA}, ownedBy("job"), slowPrepare},
	"the removal of an image": {[]func(*policy.Rule){fixture.TTL(0), ofTeamA}, func(*draft) {}, slowPrepare},
	"a DELETE behind a rate limit": {[]func(*policy.Rule){fixture.TTL(0), ofTeamA}, func(*draft) {}, func(c *cluster, happens func()) {
		c.source(0).apply(row("first", c.began))
		bubble.Pass(0)
		time.AfterFunc(5*time.Second, happens)
	}},
	"a mark": {[]func(*policy.Rule){fixture.TTL(0), ofTeamA, fixture.Marking}, unmarked, func(c *cluster, happens func()) {
		first := true
		c.harness.set(func() {
			c.harness.check = func(namespace string) error {
				if first {
					first = false
					return slowly(happens)
				}
				return c.check(namespace)
			}
		})
	}},
}

// slowPrepare is the read of a subject whose owner is deleted, or the wait of an image removal.
func slowPrepare(c *cluster, happens func()) {
	var once sync.Once
	c.harness.set(func() {
		c.prepare = func(context.Context) *retention.Outcome {
			once.Do(func() { _ = slowly(happens) })
			return nil
		}
	})
}

func slowly(happens func()) error {
	time.Sleep(3 * time.Second)
	happens()
	time.Sleep(3 * time.Second)
	return nil
}

// TestChangeDuringASlowStepCounts: no request is sent if something that it depends on changes during a slow step before
// it.
func TestChangeDuringASlowStepCounts(t *testing.T) {
	for request, sends := range requests {
		for what, happens := range changesDuringAttempt {
			for _, live := range []bool{false, true} {
				if request == "a mark" && !stopsMarks[what] {
					continue
				}
				runInBubble(t, fmt.Sprintf("%s, %s, live: %v", request, what, live), retention.Options{MaxPerSecond: 0.1}, func(t *testing.T, w *harness) {
					c := &cluster{harness: w, rule: fixture.Rule("r", sends.options...)}
					w.set(func() { w.check, w.permit = c.check, c.permit })
					w.listedBy(c.rule)
					happened := false
					sends.slow(c, func() { happened = true; happens(c, live) })
					w.source(0).apply(row("x", w.began, sends.row))
					bubble.Pass(time.Minute)
					if !happened {
						t.Error("nothing happened")
					}
					expect.Equal(t, "attempts", 0, count(w.attempted(), "x@"))
					expect.Equal(t, "marks", nil, w.marks)
				})
			}
		}
	}
}

// TestNewVersionDuringASlowStepIsPreparedAgain: if a newer version is due too, its deletion is prepared from the
// beginning. The deletion of the older version is not sent.
func TestNewVersionDuringASlowStepIsPreparedAgain(t *testing.T) {
	for request, sends := range requests {
		if request == "a mark" {
			continue // a mark only concerns the version that exists
		}
		for what, happens := range map[string]func(c *cluster){
			"another version": func(c *cluster) { c.source(0).apply(row("x", c.began, version(2), sends.row)) },
			"another way to delete it": func(c *cluster) {
				c.use(false, false, c.other(func(r *policy.Rule) { r.Propagation = "Foreground" }))
			},
			"another owner": func(c *cluster) { c.source(0).apply(row("x", c.began, version(3), ownedBy("other"))) },
		} {
			runInBubble(t, request+", "+what, retention.Options{MaxPerSecond: 0.1}, func(t *testing.T, w *harness) {
				c := &cluster{harness: w, rule: fixture.Rule("r", sends.options...)}
				var now, sent string
				form := func(i policy.Intent) string {
					return fmt.Sprintf("%s@%s %s %s", i.Subject.Name, i.Subject.ResourceVersion, i.Rule.Propagation, i.Owner)
				}
				w.set(func() {
					w.check, w.permit = c.check, c.permit
					w.outcome = func(w policy.DeletePermit) retention.Outcome {
						if i := w.Intent(); i.Subject.Name == "x" {
							sent = form(i)
						}
						return retention.Outcome{Result: retention.Removed}
					}
					w.prepared = func(w policy.DeletePermit) { now = form(w.Intent()) }
				})
				w.listedBy(c.rule)
				sends.slow(c, func() { happens(c) })
				w.source(0).apply(row("x", w.began, sends.row))
				bubble.Pass(time.Minute)
				if sent == "" || sent != now {
					t.Errorf("%q was sent, and %q was prepared", sent, now)
				}
			})
		}
	}
}

// answers records when each precondition was last answered, and how.
type answers struct {
	*rand.Rand
	mu     sync.Mutex
	last   map[string]time.Time // when the last positive answer came; zero after a negative one
	broken map[string]time.Time // until when the answer is negative
	sent   int
	late   []string
}

// delay is a step that takes a random time, often too long.
func (a *answers) delay(most time.Duration) {
	a.mu.Lock()
	d := time.Duration(a.IntN(int(500 * time.Millisecond)))
	if a.IntN(4) == 0 {
		d *= 6
	}
	a.mu.Unlock()
	time.Sleep(min(d, most))
}

var errBroken = errors.New("the references are not up to date")

// ask takes a random time and returns the answer as it is after that.
func (a *answers) ask(name string, most time.Duration) error {
	a.delay(most)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Before(a.broken[name]) {
		a.last[name] = time.Time{}
		return errBroken
	}
	if a.IntN(10) == 0 {
		a.broken[name] = now.Add(time.Duration(a.IntN(int(10 * time.Second))))
	}
	a.last[name] = now
	return nil
}

// sending is called when a request is sent: every answer must be at most a second old.
func (a *answers) sending(names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent++
	for _, name := range names {
		if age := time.Since(a.last[name]); a.last[name].IsZero() || age > time.Second {
			a.late = append(a.late, fmt.Sprintf("the answer for %s is %s old", name, age))
		}
	}
}

// TestAttemptUsesNoAnswerOlderThanASecond, however long a step takes.
func TestAttemptUsesNoAnswerOlderThanASecond(t *testing.T) {
	for name, test := range map[string]struct {
		options []func(*policy.Rule)
		row     func(*draft)
		asks    []string
	}{
		"owners": {[]func(*policy.Rule){owners, ofTeamA}, ownedBy("job"), []string{"permission", "owner", "prepare", "fence"}},
		"marks":  {[]func(*policy.Rule){fixture.TTL(0), ofTeamA, fixture.Marking}, unmarked, []string{"permission", "fence"}},
	} {
		for seed := range uint64(20) {
			runInBubble(t, fmt.Sprint(name, " ", seed), retention.Options{MaxInFlight: 1, MaxPerSecond: 1}, func(t *testing.T, w *harness) {
				a := &answers{Rand: random(seed), last: map[string]time.Time{}, broken: map[string]time.Time{}}
				suspended := false
				w.set(func() {
					w.check = func(string) error { return a.ask("fence", time.Minute) }
					w.permit = func(*policy.Rule) error { return a.ask("permission", 900*time.Millisecond) }
					w.permitOwner = func(*policy.Rule, *policy.Owner) error { return a.ask("owner", time.Minute) }
					w.prepare = func(context.Context) *retention.Outcome {
						if err := a.ask("prepare", time.Minute); err != nil {
							return &retention.Outcome{Err: err}
						}
						return nil
					}
					w.outcome = func(policy.DeletePermit) retention.Outcome {
						a.sending(test.asks...)
						if suspended {
							t.Error("sent while the rule is suspended")
						}
						return retention.Outcome{Result: retention.Removed}
					}
					w.marked = func(policy.EligibleSincePatch) retention.Outcome {
						a.sending(test.asks...)
						if suspended {
							t.Error("marked while the rule is suspended")
						}
						return retention.Outcome{Result: retention.Marked}
					}
				})
				r := fixture.Rule("r", test.options...)
				w.listedBy(r, rows("x", 30, w.began, test.row)...)
				for range 60 {
					bubble.Pass(time.Duration(a.IntN(int(10 * time.Second))))
					suspended = !suspended
					other := *r
					if suspended {
						other.Mode = v1alpha1.Suspend
					}
					w.use(&other)
				}
				w.cancel()
				<-w.stopped
				bubble.Pass(time.Minute) // for the checks that timed out
				a.mu.Lock()
				defer a.mu.Unlock()
				if a.sent == 0 || len(a.late) > 0 {
					t.Errorf("%d requests; late: %v", a.sent, a.late)
				}
			})
		}
	}
}

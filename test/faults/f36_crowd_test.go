// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// crowd is many objects that become due at once. Each narrow policy has a namespace of its own. Each wide policy has each of
// its objects in another namespace.
type crowd struct {
	*scenario.Scenario
	namespaces   []string
	narrow, wide sort
	more         string                        // fields of all policies
	due          func(share float64) time.Time // when an object is due, by the share of objects before it; nil for its creation
}

// sort is a number of policies and the number of objects of each.
type sort struct{ policies, each int }

func (s sort) size() int { return s.policies * s.each }

// share returns the share of the objects before the i-th one.
func (s sort) share(i int) float64 { return float64(i) / float64(s.size()) }

const (
	patience    = 15 * time.Minute // a busy machine is slow
	memoryBound = 400              // in MB
)

func (c *crowd) size() int { return c.narrow.size() + c.wide.size() }

// inCrowd is a label of all objects of a crowd, and of the namespaces of narrow policies.
const inCrowd = "faults.sunset.test/crowd"

// assemble creates all objects, many at a time.
func (c *crowd) assemble(namespaces int) {
	c.Helper()
	for i := range namespaces {
		c.namespaces = append(c.namespaces, fmt.Sprintf("%s-n-%d", c.Namespace, i))
	}
	c.many(namespaces, func(i int) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespaces[i], Labels: map[string]string{inCrowd: fmt.Sprint(i)}}}
	})
	c.many(c.narrow.policies, func(i int) client.Object {
		return c.policy(fmt.Sprintf("narrow-%d", i), c.rule("narrow")+fmt.Sprintf("namespaceSelector: {matchLabels: {%s: \"%d\"}}\n", inCrowd, i))
	})
	c.many(c.wide.policies, func(i int) client.Object {
		return c.policy(fmt.Sprintf("wide-%d", i), c.rule(fmt.Sprintf("wide-%d", i))+limitedTo(i))
	})
	c.many(c.narrow.size(), func(i int) client.Object {
		return c.member(fmt.Sprintf("narrow-%d", i), c.namespaces[i%c.narrow.policies], "narrow", c.narrow.share(i))
	})
	c.many(c.wide.size(), func(i int) client.Object {
		p, nth := i%c.wide.policies, i/c.wide.policies
		return c.member(fmt.Sprintf("wide-%d", i), c.namespaces[(p+nth*len(c.namespaces)/c.wide.each)%len(c.namespaces)], fmt.Sprintf("wide-%d", p), c.wide.share(i))
	})
}

// limitedTo gives every twentieth wide policy a limit.
func limitedTo(i int) string {
	if i%20 > 0 {
		return ""
	}
	return "limits: {maxDeletions: 20, window: 30s}\n"
}

// many creates n objects.
func (c *crowd) many(n int, object func(int) client.Object) {
	c.Helper()
	all := &errgroup.Group{}
	all.SetLimit(16)
	for i := range n {
		all.Go(func() error { return c.Create(c.Context(), object(i)) })
	}
	expect.NoError(c, all.Wait())
}

func (c *crowd) policy(name, spec string) *v1alpha1.ClusterRetentionPolicy {
	p := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace + "-" + name}}
	if err := yaml.UnmarshalStrict([]byte(spec+"approval: {maxObjects: 1000000, maxPercent: 100}\n"), &p.Spec); err != nil {
		c.Error(err)
	}
	return p
}

// rule returns the spec of a policy of the crowd.
func (c *crowd) rule(env string) string {
	if c.due == nil {
		return labelled(env, "Enforce", "0s") + c.more
	}
	return timed(env) + c.more
}

func (c *crowd) member(name, namespace, env string, share float64) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"env": env, inCrowd: ""}}}
	if c.due != nil {
		dueAt(c.due(share))(cm)
	}
	return cm
}

// keeper keeps a crowd until it becomes a dry run.
const keeper = `
mode: Enforce
rules:
- name: later
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {` + inCrowd + `: ""}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 24h
`

// settle waits until the status of each policy of the crowd is as wanted. want receives the number of objects of the policy.
func (c *crowd) settle(want func(status v1alpha1.RetentionPolicyStatus, each int64) bool) {
	c.Helper()
	all := &v1alpha1.ClusterRetentionPolicyList{}
	for deadline := time.Now().Add(patience); ; time.Sleep(3 * time.Second) { // a list is expensive
		expect.NoError(c, c.List(c.Context(), all))
		waiting := slices.DeleteFunc(all.Items, func(p v1alpha1.ClusterRetentionPolicy) bool {
			each := c.has(strings.TrimPrefix(p.Name, c.Namespace+"-"))
			return each == 0 || want(p.Status, each)
		})
		switch {
		case len(waiting) == 0:
			return
		case time.Now().After(deadline):
			c.Fatalf("%d policies do not have the wanted status, for example %s: %+v", len(waiting), waiting[0].Name, waiting[0].Status)
		}
	}
}

// counts waits until the statuses of the crowd have counted every DELETE with a successful answer. Policies without limits do
// not promise to count a DELETE whose answer was lost, as may happen on a busy machine.
func (c *crowd) counts(deletes []proxy.Entry, few map[string]time.Time) {
	c.Helper()
	carriedOut := int64(0)
	for _, e := range deletes {
		if _, other := few[e.Name]; !other && e.Code == http.StatusOK {
			carriedOut++
		}
	}
	if lost := int64(c.size()) - carriedOut; lost > int64(c.size()/100) {
		c.Errorf("%d of %d DELETEs had no successful answer", lost, c.size())
	}
	var total int64
	for deadline := time.Now().Add(patience); total != carriedOut; time.Sleep(3 * time.Second) {
		total = 0
		c.settle(func(status v1alpha1.RetentionPolicyStatus, each int64) bool {
			total += status.Deleted
			return status.Deleted <= each
		})
		if time.Now().After(deadline) {
			c.Fatalf("statuses count %d deletions, want %d", total, carriedOut)
		}
	}
}

// has returns how many objects a policy has; 0 for a policy that is not part of the crowd.
func (c *crowd) has(policy string) int64 {
	switch of, _, _ := strings.Cut(policy, "-"); of {
	case "narrow":
		return int64(c.narrow.each)
	case "wide":
		return int64(c.wide.each)
	}
	return 0
}

// isGone reports whether all objects of the crowd are deleted.
func (c *crowd) isGone() bool {
	c.Helper()
	some := &corev1.ConfigMapList{}
	expect.NoError(c, c.List(c.Context(), some, client.MatchingLabels{inCrowd: ""}, client.Limit(1)))
	return len(some.Items) == 0
}

// few creates one object after the other, of a policy without other objects, until the crowd is gone. It returns the time of
// each creation.
func (c *crowd) few() map[string]time.Time {
	c.Helper()
	made := map[string]time.Time{}
	for deadline := time.Now().Add(patience); !c.isGone(); time.Sleep(200 * time.Millisecond) {
		name := fmt.Sprintf("few-%d", len(made))
		cm := c.ConfigMap(name, map[string]string{"env": "few"})
		made[name] = time.Now()
		for !apierrors.IsNotFound(c.Get(c.Context(), client.ObjectKeyFromObject(cm), cm)) {
			if time.Now().After(deadline) {
				c.Fatalf("%s still exists", name)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	return made
}

// served returns how many other objects were deleted before one of the few, and how long that one took, at the maximum.
func served(deletes []proxy.Entry, few map[string]time.Time) (others int, wait time.Duration) {
	for i, e := range deletes {
		if made, is := few[e.Name]; is {
			others, wait = max(others, len(since(made, deletes[:i]))), max(wait, e.At.Sub(made))
		}
	}
	return others, wait
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory returns the maximum memory of a replica's process, in MB.
func memory(s *scenario.Scenario, r *scenario.Replica) int {
	s.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	found := highWater.FindSubmatch(status)
	if err != nil || found == nil {
		s.Fatalf("read the memory of %s: %v", r.User, err)
	}
	kb, _ := strconv.Atoi(string(found[1])) // digits only
	return kb / 1024
}

// asks returns how many of the requests are reads.
func asks(entries []proxy.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Verb == "get" || e.Verb == "list" {
			n++
		}
	}
	return n
}

// drained fails the test if the few objects waited for too large a part of the crowd, or if the run used too much memory or
// too many requests.
func (c *crowd) drained(r *scenario.Replica, released time.Time, few map[string]time.Time) {
	drain := time.Since(released)
	requests, deletes, most := since(released, r.Proxy.Journal()), r.Deletes(), memory(c.Scenario, r)
	others, wait := served(deletes, few)
	c.Logf("%d objects in %s, %d DELETEs among %d requests, %d of them reads; at most %d MB; each of %d other objects was deleted within %s, after at most %d of the crowd",
		c.size(), drain.Round(time.Second), len(deletes), len(requests), asks(requests), most, len(few), wait.Round(time.Millisecond), others)
	if len(few) < 2 || others > c.size()/2 {
		c.Errorf("one of %d other objects waited for %d of %d", len(few), others, c.size())
	}
	if most > memoryBound && os.Getenv(build.Variable) == "" {
		c.Errorf("%d MB of memory, want less", most)
	}
	if n := c.size() + len(few); len(deletes) > n+n/100 {
		c.Errorf("%d DELETEs for %d objects", len(deletes), n)
	}
	if n := asks(requests); n > 100+25*int(drain.Seconds()) { // live reads of policies and namespaces
		c.Errorf("%d reads in %s", n, drain)
	}
}

// TestF36ACrowdDoesNotStarveTheFew makes a crowd of 1,000 policies in 1,000 namespaces due at once: the policy that kept it
// becomes a dry run. A policy with few objects does not wait for the crowd, regardless of the number of policies and
// namespaces.
func TestF36ACrowdDoesNotStarveTheFew(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true, Own: true})
	c := &crowd{Scenario: s, narrow: sort{800, 5}, wide: sort{200, 30}}
	c.assemble(1000)
	keeps := s.Policy("keeper", keeper)
	s.Policy("few", labelled("few", "Enforce", "0s"))
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false"}})
	c.settle(func(status v1alpha1.RetentionPolicyStatus, each int64) bool {
		return status.Matched == each && len(status.Previews) > 0
	})
	if n := len(r.Deletes()); n > 0 {
		t.Fatalf("%d objects were deleted that the keeper keeps", n)
	}

	s.Edit(keeps, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Mode = v1alpha1.DryRun })
	released := time.Now()
	few := c.few()
	c.drained(r, released, few)
	c.counts(r.Deletes(), few)
	expectPreconditions(t, r.Deletes())
	s.Calm()
	s.End()
	if n := s.Report().Removed; n != c.size()+len(few) {
		t.Errorf("%d removals were checked, want %d", n, c.size()+len(few))
	}
}

// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// agedImages deletes images that have been unused for an hour, and some after a second.
const agedImages = `
mode: Enforce
rules:
- name: old
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('old.test/'))
  ttl: 1h
- name: quick
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('quick.test/'))
  ttl: 1s
  images: {minAge: 1s}
`

// stepping is a clock that a test can set to another time.
type stepping struct {
	hasty
	ahead atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *stepping) Now() time.Time { return c.hasty.Now().Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *stepping) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// dated is a transport to an API server with another clock.
type dated struct {
	http.RoundTripper
	clock clock.PassiveClock
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Header.Set("Date", d.clock.Now().UTC().Format(http.TimeFormat))
	}
	return response, err
}

// TestStepOfTheClockMakesNothingOld: a step of all clocks, forward or back, makes no image older, and images that are old
// enough are still removed.
func TestStepOfTheClockMakesNothingOld(t *testing.T) {
	w := newEnv(t)
	s, c := critest.Start(t), &stepping{}
	n := w.node("a")
	s.Update(func(s *critest.State) { s.Images = append(s.Images, critest.Image(1, "old.test/app:v1")) })
	w.sunset()
	w.approved("aged", agedImages)
	server := w.plane.Config()
	server.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, c} })
	w.startAgent(agent.Config{Rest: server, Clock: c, Node: n.Name, Endpoint: s.Endpoint, StateDir: t.TempDir()})
	const year = 365 * 24 * time.Hour
	for i, ahead := range []time.Duration{0, year, -year} {
		c.ahead.Store(int64(ahead))
		s.Update(func(s *critest.State) {
			s.Images = append(s.Images, critest.Image(2+i, fmt.Sprintf("quick.test/app:v%d", i)))
		})
		w.leaves(s, 1)
	}
}

// kept returns a directory with the history of a machine that has observed an image for ten hours.
func (w *env) kept(machine string) (dir string) {
	w.Helper()
	const long = 10 * time.Hour
	dir = w.TempDir()
	readings, err := history.NodeClock(time.Now)
	expect.NoError(w, err)
	now := readings()
	before := history.Reading{Wall: now.Wall.Add(-long), BootID: now.BootID, Boot: now.Boot - long}
	kept, err := history.Open(dir, before, history.Options{Machine: machine, Gap: long})
	expect.NoError(w, err)
	seen := []history.Seen{{ID: critest.ID(1)}, {ID: critest.ID(2)}}
	kept.Observe(before, seen)
	kept.Observe(now, seen)
	expect.NoError(w, kept.Close())
	return dir
}

// TestAgesAreReadOrStartAgain: with the state file of this node the agent removes an old image immediately. It sets aside
// and reports a file of another node or a damaged file, and removes nothing because of it.
func TestAgesAreReadOrStartAgain(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.approved("aged", agedImages)
	own, foreign, torn := w.node("own"), w.node("foreign"), w.node("torn")
	states := map[string]string{own.Name: w.kept(own.Name), foreign.Name: w.kept(own.Name), torn.Name: w.kept(torn.Name)}
	expect.NoError(w, os.Truncate(filepath.Join(states[torn.Name], history.Name), 100))
	servers := map[string]*critest.Server{}
	for name, state := range states {
		s := critest.Start(t)
		s.Update(func(s *critest.State) {
			s.Images = append(s.Images, critest.Image(1, "old.test/app:v1"), critest.Image(2, "stay.test/app:v1"))
		})
		w.startAgent(agent.Config{Clock: hasty{}, Node: name, Endpoint: s.Endpoint, StateDir: state})
		servers[name] = s
	}
	w.leaves(servers[own.Name], 2)
	w.tells(own, withCondition(v1alpha1.ConditionStateKept, metav1.ConditionTrue, ""))
	w.tells(foreign, withCondition(v1alpha1.ConditionStateKept, metav1.ConditionFalse, "it was written by machine"))
	w.tells(torn, withCondition(v1alpha1.ConditionStateKept, metav1.ConditionFalse, "truncated"))
	time.Sleep(time.Second) // other images would be removed in this time
	for _, name := range []string{foreign.Name, torn.Name} {
		w.leaves(servers[name], 1, 2)
		if bad, err := filepath.Glob(filepath.Join(states[name], history.Name+".bad-*")); err != nil || len(bad) != 1 {
			t.Errorf("%s: set aside %v, %v, want one file", name, bad, err)
		}
	}
}

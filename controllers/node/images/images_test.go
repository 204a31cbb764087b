// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// machine is a node with a fake runtime, fake Pods and a fake clock.
type machine struct {
	*testing.T
	*images.Node
	clock *clocktesting.FakeClock

	mu      sync.Mutex
	listed  map[string]cri.Image
	usedBy  func() (cri.Uses, error)
	pods    []corev1.Pod
	podsAge time.Duration // how long ago the API server listed them
	list    error
	remove  func(id string) error // nil removes the image
	removed []string
	failed  []string
	lists   int
	before  int               // number of lists before the last removal
	slow    time.Duration     // duration of each list
	unread  string            // ID of an image that the runtime cannot read
	during  func(call string) // called when a call ends; may be nil
	used    int32             // percent of the filesystem; 0 means unknown
	stepped time.Duration     // sum of the steps of the wall clock
}

const interval = 30 * time.Second

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), listed: map[string]cri.Image{}}
	kept, err := history.Open(t.TempDir(), m.reading(), history.Options{Machine: "node", Gap: 2 * interval, Every: interval})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = kept.Close() })
	compiler := fixture.Compiler(t)
	m.Node = images.New(images.Options{
		Runtime: runtime{m}, Cluster: api{m}, History: kept, Readings: m.reading, Clock: m.clock, Compiler: compiler, Interval: interval,
		Failed: func(code string) { m.failed = append(m.failed, code) },
	})
	m.CountSources(1)
	return m
}

func (m *machine) reading() history.Reading {
	return history.Reading{Wall: m.clock.Now(), BootID: "boot", Boot: time.Duration(m.clock.Now().Add(-m.stepped).UnixNano())}
}

// id returns a full image ID.
func id(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

func (m *machine) has(tag, letter string) {
	m.listed[id(letter)] = cri.Image{ID: id(letter), Tags: []string{tag}, Digests: []string{"registry/x@" + id(letter)}, SizeBytes: 7}
}

// runtime is the container runtime of a machine.
type runtime struct{ m *machine }

func (r runtime) Images(context.Context) ([]cri.Image, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.lists++
	time.Sleep(r.m.slow)
	defer r.m.ends("Images")
	return slices.Collect(maps.Values(r.m.listed)), r.m.list
}

func (r runtime) Image(_ context.Context, id string) (cri.Image, bool, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if id == r.m.unread {
		return cri.Image{}, false, status.Error(codes.Internal, "no content")
	}
	i, ok := r.m.listed[id]
	defer r.m.ends("Image")
	return i, ok, r.m.list
}

func (m *machine) ends(call string) {
	if m.during != nil {
		m.during(call)
	}
}

func (r runtime) Uses(context.Context) (cri.Uses, error) {
	defer r.m.ends("Uses")
	if r.m.usedBy != nil {
		return r.m.usedBy()
	}
	return cri.NewUses(), nil
}

func (r runtime) Remove(_ context.Context, id string, beforeWrite func() error) error {
	if err := beforeWrite(); err != nil {
		return err
	}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.removed, r.m.before = append(r.m.removed, id), r.m.lists
	if r.m.remove != nil {
		return r.m.remove(id)
	}
	delete(r.m.listed, id)
	return nil
}

// api is the API server of a machine.
type api struct{ m *machine }

func (a api) Pods(context.Context) ([]corev1.Pod, time.Time, error) {
	pods := a.m.pods
	a.m.ends("Pods")
	return pods, a.m.clock.Now().Add(-a.m.podsAge), nil
}
func (a api) Node() (*engine.Node, error) {
	node := &engine.Node{Name: "node"}
	if a.m.used > 0 {
		node.Filesystem = &v1alpha1.NodeImageFilesystem{UsedPercent: a.m.used}
	}
	return node, nil
}

const rules = `{
  "apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionPolicy", "metadata": {"name": "p", "uid": "p"},
  "spec": {"mode": "Enforce", "rules": [{
    "name": "r", "target": {"apiVersion": "node.sunset-k8s.io/v1alpha1", "kind": "Image"},
    "eligible": "true", "ttl": "1m", "images": {"minAge": "30s", "highThresholdPercent": 85, "lowThresholdPercent": 80}
  }]}
}`

// permit takes snapshots of the node for a while and then evaluates an image. The permit is not valid if the image is kept.
func (m *machine) permit(letter string) policy.DeletePermit {
	m.Helper()
	return m.permitFor(4, letter, policy.RankResult{})
}

// permitted returns a machine with two images, and a permit to remove image a.
func permitted(t *testing.T) (*machine, policy.DeletePermit) {
	t.Helper()
	m := newMachine(t)
	m.has("go/app:v1", "a")
	m.has("go/else:v1", "b")
	return m, m.permit("a")
}

// load puts a policy with one rule in force.
func (m *machine) load(text string) (*policy.Rule, retention.RuleSet) {
	m.Helper()
	document, err := policy.Parse([]byte(text))
	expect.NoError(m.T, err)
	p := document.Load(policy.Protection{})
	programs := m.Compiler.Load(p)
	rule := p.Rules[0]
	if rule.Invalid() {
		m.Fatal(p.Problems)
	}
	m.Use(programs)
	return rule, retention.NewRuleSet(rule.Kind, []*engine.Program{programs[rule.Key]}, nil)
}

// rowOf takes a snapshot and evaluates an image.
func (m *machine) rowOf(source retention.Source, id string) (row *index.FactRow) {
	m.Helper()
	err := source.Read(m.Context(), policy.Subject{Name: id, UID: types.UID(id)}, func(r *index.FactRow) { row = r })
	if err != nil || row == nil {
		m.Fatalf("%v, %v", row, err)
	}
	return row
}

func (m *machine) permitFor(looks int, letter string, place policy.RankResult) policy.DeletePermit {
	m.Helper()
	rule, set := m.load(rules)
	source := m.Open(set)
	var row *index.FactRow
	for range looks {
		row = m.rowOf(source, id(letter))
		m.clock.Step(interval)
	}
	_, w := policy.Decide(row.Subject(), []policy.Evaluation{{Rule: rule, Facts: row.Facts()[0], Rank: place, Known: true}}, m.clock.Now())
	return w
}

// cleared returns the clearance to remove the image of a permit.
func cleared(t *testing.T, w policy.DeletePermit) policy.Clearance {
	t.Helper()
	return fixture.Clear(t, w, policy.TargetOf(w.Rule().Kind, w.Subject()))
}

func (m *machine) removeBy(w policy.DeletePermit) retention.Outcome {
	m.Helper()
	if !w.Valid() {
		m.Fatal("the permit is not valid")
	}
	return m.carryOut(w, policy.TargetOf(w.Rule().Kind, w.Subject()))
}

// prepare prepares the removal of an image, but does not send it. The caller releases it.
func (m *machine) prepare(w policy.DeletePermit) retention.Prepared {
	m.Helper()
	prepared, blocked := m.Prepare(m.Context(), w, policy.TargetOf(w.Rule().Kind, w.Subject()))
	if blocked != nil {
		m.Fatal(blocked.Err)
	}
	return prepared
}

// carryOut prepares a removal and sends it.
func (m *machine) carryOut(w policy.DeletePermit, target policy.Target) retention.Outcome {
	prepared, blocked := m.Prepare(m.Context(), w, target)
	if blocked != nil {
		return *blocked
	}
	defer prepared.Release()
	return prepared.Send(m.Context(), fixture.Clear(m.T, w, target), m.clock.Now())
}

func TestPrepareReadsTheImageAgain(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(m *machine)
		want      retention.Result
		asked     int // removals
	}{
		"no change":                 {func(*machine) {}, retention.Removed, 1},
		"another client removed it": {func(m *machine) { delete(m.listed, id("a")) }, retention.Gone, 0},
		"another tag":               {func(m *machine) { m.has("go/other:v1", "a") }, retention.Changed, 0},
		"a container uses it":       {func(m *machine) { m.usedBy = func() (cri.Uses, error) { return usesOf("go/app:v1"), nil } }, retention.Changed, 0},
		"the uses are unknown":      {func(m *machine) { m.usedBy = func() (cri.Uses, error) { return cri.Uses{}, nil } }, retention.Changed, 0},
		"no answer":                 {func(m *machine) { m.list = status.Error(codes.Unavailable, "away") }, retention.Failed, 0},
		"a Pod names it":            {func(m *machine) { m.pods = []corev1.Pod{naming("go/app:v1")} }, retention.Changed, 0},
		"a Pod names its digest": {func(m *machine) {
			m.pods = []corev1.Pod{naming("elsewhere/x@" + id("a"))}
		}, retention.Changed, 0},
		"a Pod that has ended names it": {func(m *machine) {
			pod := naming("go/app:v1")
			pod.Status.Phase = corev1.PodSucceeded
			m.pods = []corev1.Pod{pod}
		}, retention.Removed, 1},
		"an empty list":              {func(m *machine) { clear(m.listed) }, retention.Failed, 0},
		"a snapshot that takes long": {func(m *machine) { m.usedBy = m.slowly }, retention.Failed, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			test.meanwhile(m)
			if o := m.removeBy(w); o.Result != test.want || len(m.removed) != test.asked {
				t.Errorf("%s (%v) after %d removals, want %s after %d", o.Result, o.Err, len(m.removed), test.want, test.asked)
			}
		})
	}
}

// TestNoImageIsRemovedByOutdatedAnswers: the agent sends no removal more than a second after an answer that the removal depends
// on.
func TestNoImageIsRemovedByOutdatedAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		sent bool
	}{"in time": {time.Second, true}, "too late": {time.Second + 1, false}} {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			prepared := m.prepare(w)
			defer prepared.Release()
			m.clock.Step(test.age)
			o := prepared.Send(t.Context(), cleared(t, w), prepared.Since)
			if o.Unsent == test.sent || (len(m.removed) == 1) != test.sent {
				t.Errorf("%s, unsent %v (%v) after %d removals", o.Result, o.Unsent, o.Err, len(m.removed))
			}
		})
	}
}

// TestPrepareReadsOnlyImagesToRemove: while nothing has changed a removal lists no images, unless its rule compares images.
func TestPrepareReadsOnlyImagesToRemove(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*machine)
		ranks     bool
		lists     int
		want      retention.Result
	}{
		"no change":                 {func(*machine) {}, false, 0, retention.Removed},
		"another image is gone":     {func(m *machine) { delete(m.listed, id("b")) }, false, 0, retention.Removed},
		"the image has another tag": {func(m *machine) { m.has("go/other:v1", "a") }, false, 1, retention.Changed},
		"the image is in use":       {func(m *machine) { m.pods = []corev1.Pod{naming("go/app:v1")} }, false, 1, retention.Changed},
		"the image is gone":         {func(m *machine) { delete(m.listed, id("a")) }, false, 1, retention.Gone},
		"the rule ranks":            {func(*machine) {}, true, 1, retention.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			w.Rule().Capacity.Bounded = test.ranks
			test.meanwhile(m)
			if o, lists := m.listsFor(w); o.Result != test.want || lists != test.lists {
				t.Errorf("%s (%v) after %d lists, want %s after %d", o.Result, o.Err, lists, test.want, test.lists)
			}
		})
	}
}

// TestStepOfAClockMakesNoImageDue: before the next snapshot, the ages of the images are outdated.
func TestStepOfAClockMakesNoImageDue(t *testing.T) {
	for name, test := range map[string]struct {
		snapshots  int // after the first
		step, wait time.Duration
		want       retention.Result
	}{
		"the wall clock steps forward": {0, time.Hour, 0, retention.Changed},
		"the node is suspended":        {0, 0, time.Hour, retention.Changed},
		"no step":                      {3, 0, interval, retention.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			rule, set := m.load(rules)
			source := m.Open(set)
			row := m.rowOf(source, id("a"))
			for range test.snapshots {
				m.clock.Step(interval)
				row = m.rowOf(source, id("a"))
			}
			m.clock.Step(test.wait + test.step)
			m.stepped = test.step
			_, w := policy.Decide(row.Subject(), []policy.Evaluation{{Rule: rule, Facts: row.Facts()[0], Known: true}}, m.clock.Now())
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s (%v), want %s", o.Result, o.Err, test.want)
			}
		})
	}
}

// listsFor carries out a permit and returns how often that listed the images. Lists after the removal do not count.
func (m *machine) listsFor(w policy.DeletePermit) (retention.Outcome, int) {
	m.Helper()
	m.mu.Lock()
	began := m.lists
	m.mu.Unlock()
	o := m.removeBy(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.Result == retention.Removed {
		return o, m.before - began
	}
	return o, m.lists - began
}

// TestRanksCountOthers: a rule that keeps the newest images does not use a rank that the removal of another image has changed.
func TestRanksCountOthers(t *testing.T) {
	for name, test := range map[string]struct {
		ranks bool
		gone  func(m *machine)
		want  retention.Result
	}{
		"no image is gone":                     {true, func(*machine) {}, retention.Removed},
		"another client removed another image": {true, func(m *machine) { delete(m.listed, id("b")) }, retention.Changed},
		"another client removed another image, and the rule does not rank": {false, func(m *machine) { delete(m.listed, id("b")) }, retention.Removed},
		"the agent removed another image just now":                         {true, func(m *machine) { m.removeBy(m.permit("b")) }, retention.Removed},
		"another image has another tag":                                    {true, func(m *machine) { m.has("go/else:v2", "b") }, retention.Changed},
		"another image is pinned":                                          {true, func(m *machine) { m.pin("b") }, retention.Changed},
		"another image has another tag, and the rule does not rank":        {false, func(m *machine) { m.has("go/else:v2", "b") }, retention.Removed},
		"another image was used":                                           {true, use("go/else:v1"), retention.Removed},
		"another image was pulled":                                         {true, func(m *machine) { m.has("go/late:v1", "c") }, retention.Removed},
		"an image that the agent removed was pulled again":                 {true, comesBack, retention.Removed},
		"an image was pulled again, and another client removed it":         {true, func(m *machine) { comesBack(m); m.lose("b") }, retention.Changed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			m.has("go/else:v1", "b")
			m.has("go/rest:v1", "d")
			m.Receive(t.Context())
			w := m.permit("a")
			w.Rule().Capacity.Bounded = test.ranks
			test.gone(m)
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s (%v), want %s", o.Result, o.Err, test.want)
			}
		})
	}
}

// use returns a function that uses an image for a while.
func use(tag string) func(m *machine) {
	return func(m *machine) {
		m.usedBy = func() (cri.Uses, error) { return usesOf(tag), nil }
		expect.NoError(m.T, m.takeSnapshot())
		m.usedBy = nil
	}
}

// pin pins an image.
func (m *machine) pin(letter string) {
	i := m.listed[id(letter)]
	i.Pinned = true
	m.listed[id(letter)] = i
}

// comesBack removes an image and adds it again, as if it had been pulled again some time ago.
func comesBack(m *machine) {
	m.removeBy(m.permit("b"))
	m.mu.Lock() // a snapshot may be in progress
	m.has("go/else:v1", "b")
	m.mu.Unlock()
	for range 4 {
		expect.NoError(m.T, m.takeSnapshot())
	}
}

// TestPrepareOnlyTheImageOfThePermit: a removal that was prepared for one permit is not sent with another.
func TestPrepareOnlyTheImageOfThePermit(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	m.has("go/else:v1", "b")
	w, other := m.permit("a"), m.permit("b")
	for name, by := range map[string]policy.Clearance{"none": {}, "one for another image": cleared(t, other)} {
		prepared := m.prepare(w)
		if o := prepared.Send(t.Context(), by, m.clock.Now()); !o.Unsent || o.Err == nil || len(m.removed) > 0 {
			t.Errorf("clearance %s: %+v after %d removals", name, o, len(m.removed))
		}
		prepared.Release()
	}
}

// TestImageWithoutARecordIsKept: the history is limited to fewer images than exist. An image without a record is kept, even
// by a rule that does not read its age.
func TestImageWithoutARecordIsKept(t *testing.T) {
	m := newMachine(t)
	rule, set := m.load(strings.Replace(rules, `"eligible": "true"`, `"eligible": "true", "startTime": "timestamp('2026-01-01T00:00:00Z')"`, 1))
	source := m.Open(set)
	removes := func(id string) bool {
		row := m.rowOf(source, id)
		_, w := policy.Decide(row.Subject(), []policy.Evaluation{{Rule: rule, Facts: row.Facts()[0], Known: true}}, m.clock.Now().Add(time.Hour))
		return w.Valid()
	}
	first := fmt.Sprintf("sha256:%064x", 0)
	for i := range history.MaxImages {
		id := fmt.Sprintf("sha256:%064x", i)
		m.listed[id] = cri.Image{ID: id, Digests: []string{"registry/x@" + id}}
	}
	if !removes(first) {
		t.Error("an image with a record is kept")
	}
	m.has("go/app:v1", "a")
	if removes(id("a")) {
		t.Error("an image without a record is removed")
	}
}

// TestPrepareHonorsKeepOfOtherRules: an image is due by two rules, and the one that does not decide keeps the newest
// images. If another image is gone, that rule may keep the image.
func TestPrepareHonorsKeepOfOtherRules(t *testing.T) {
	for name, test := range map[string]struct {
		selects bool
		mode    v1alpha1.Mode
		want    retention.Result
	}{
		"the rule selects the image":         {true, v1alpha1.Enforce, retention.Changed},
		"the rule does not select the image": {false, v1alpha1.Enforce, retention.Removed},
		"the rule is a dry run":              {true, v1alpha1.DryRun, retention.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			m.has("go/app:v2", "b")
			m.Receive(t.Context())
			alone := m.permit("a")
			keeps := *alone.Rule()
			keeps.ID.Rule, keeps.Keep, keeps.Mode = "newest", 1, test.mode
			facts := policy.Facts{Selected: true, Eligible: true, Start: alone.Subject().Created, FirstSeen: alone.Subject().Created}
			sooner := facts
			facts.Start, sooner.Selected = facts.Start.Add(time.Second), test.selects
			_, w := policy.Decide(alone.Subject(), []policy.Evaluation{
				{Rule: alone.Rule(), Facts: facts, Known: true}, {Rule: &keeps, Facts: sooner, Known: true},
			}, m.clock.Now())
			delete(m.listed, id("b"))
			if o := m.removeBy(w); w.Rule() != alone.Rule() || o.Result != test.want {
				t.Errorf("%s (%v) by %s, want %s", o.Result, o.Err, w.Rule().ID, test.want)
			}
		})
	}
}

// TestPrepareListsImagesIfOneIsUnreadable: if the runtime cannot read one image, the agent takes a complete snapshot.
func TestPrepareListsImagesIfOneIsUnreadable(t *testing.T) {
	m, w := permitted(t)
	m.unread = id("a")
	if o, lists := m.listsFor(w); o.Result != retention.Removed || lists != 1 || m.LastError() != nil {
		t.Errorf("%s (%v) after %d lists, error %v; want it removed after one list", o.Result, o.Err, lists, m.LastError())
	}
}

func TestErrorDoesNotSayThatTheImageIsThere(t *testing.T) {
	away := context.DeadlineExceeded
	for name, test := range map[string]struct {
		gone bool
		look error // error of a snapshot after the removal
		want retention.Result
	}{
		"the image exists": {false, nil, retention.Failed}, "the image is gone": {true, nil, retention.Removed},
		"the state of the image is unknown": {false, status.Error(codes.Unavailable, "away"), retention.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			m.remove = func(id string) error {
				if test.gone {
					delete(m.listed, id)
				}
				m.list = test.look
				return away
			}
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s, want %s", o.Result, test.want)
			}
			if len(m.failed) != 1 {
				t.Errorf("failures reported: %v, want one", m.failed)
			}
		})
	}
}

// TestImageThatIsThereAfterItsRemoval: CRI-O removes no OCI artifact by its ID, and answers that it has. Or the image was pulled
// again at that moment. It is not removed again until its TTL has passed once more.
func TestImageThatIsThereAfterItsRemoval(t *testing.T) {
	m, w := permitted(t)
	m.remove = func(string) error { return nil }
	if o := m.removeBy(w); o.Result != retention.Refused || !o.Unsure || o.Unsent || o.Err == nil {
		t.Errorf("%+v", o)
	}
	if o := m.removeBy(w); o.Result != retention.Changed || len(m.removed) != 1 {
		t.Errorf("%s (%v) after %d removals", o.Result, o.Err, len(m.removed))
	}
	if m.permitFor(1, "a", policy.RankResult{}).Valid() || !m.permit("a").Valid() {
		t.Error("its age has not started again")
	}
}

func TestUnreachableEndsWhenTheRuntimeAnswers(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	source := m.Open(retention.RuleSet{})
	for _, step := range []struct {
		meanwhile func()
		want      time.Duration
	}{
		{func() {}, 0},
		{func() { m.list = status.Error(codes.Unavailable, "away") }, 0},
		{func() {}, interval},
		{func() { m.list = nil; clear(m.listed) }, 0}, // it answers, although not correctly
		{func() { m.has("go/app:v1", "a") }, 0},
	} {
		step.meanwhile()
		_ = source.Read(t.Context(), policy.Subject{Name: id("a")}, func(*index.FactRow) {})
		expect.Equal(t, "unreachable for", step.want, m.Unreachable())
		m.clock.Step(interval)
	}
}

// TestErrorEndsWithTheSources: without rules nothing reads the node again until somebody asks for the images.
func TestErrorEndsWithTheSources(t *testing.T) {
	m := newMachine(t)
	m.list = errors.New("away")
	_, err := m.DebugImages(t.Context())
	if err == nil || m.LastError() == nil {
		t.Errorf("%v, last error %v", err, m.LastError())
	}
	m.CountSources(-1)
	expect.Equal(t, "error without sources", nil, m.LastError())
	m.clock.Step(interval)
	if _, err := m.DebugImages(t.Context()); err == nil || m.LastError() != nil {
		t.Errorf("%v, last error %v without sources", err, m.LastError())
	}
}

func TestImageThatIsUsedOrYoungIsKept(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	m.usedBy = func() (cri.Uses, error) { return usesOf("go/app:v1"), nil }
	if m.permit("a").Valid() {
		t.Error("an image in use is due")
	}
	m.usedBy = nil
	m.clock.Step(10 * interval) // without snapshots
	if m.permitFor(1, "a", policy.RankResult{}).Valid() {
		t.Error("an image is due that was not observed unused")
	}
	if !m.permit("a").Valid() {
		t.Error("an image that was observed unused for two minutes is not due")
	}
}

func TestSnapshotsAreShared(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	w := m.permit("a")
	m.lists, m.slow = 0, 20*time.Millisecond
	target := policy.TargetOf(w.Rule().Kind, w.Subject())
	m.remove = func(string) error { return nil }
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { m.carryOut(w, target) })
	}
	group.Wait()
	if m.lists > 25 {
		t.Errorf("%d lists for 50 concurrent attempts", m.lists)
	}
}

// slowly answers that nothing is used, but takes longer than an answer is valid.
func (m *machine) slowly() (cri.Uses, error) {
	m.clock.Step(6 * time.Second)
	return cri.NewUses(), nil
}

func usesOf(name string) cri.Uses {
	uses := cri.NewUses()
	uses.Add(cri.Use{By: cri.ByContainer, Name: name})
	return uses
}

func naming(image string) corev1.Pod {
	return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
}

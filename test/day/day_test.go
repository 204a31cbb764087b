// SPDX-License-Identifier: Apache-2.0

// Package day_test runs Sunset through days of simulated time, in front of an API server without sockets. The parts that list,
// watch, evaluate, mark, delete and keep ledgers are the real ones. Clocks are wrong, users change objects, administrators edit
// policies, requests fail and watches break. Processes stop, are killed, or continue after another process has taken over.
//
// A model that shares no ideas with Sunset checks every DELETE and every mark, and once a minute all objects.
package day_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // for systems without time zone data

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

var namespaces = []string{"team-a", "team-b", "team-c"}

// day is one simulated day.
type day struct {
	*testing.T
	*server
	stored    client.Client // ledgers, and statuses of policies
	compiler  *engine.Compiler
	users     *rand.Rand
	bucket    *bucket
	processes int
	latest    atomic.Pointer[process] // the one that leads
	named     int
	now       *process // nil while no process runs
	settle    func()   // waits until all goroutines in the bubble are blocked
}

// dates are different days in different time zones: clocks move forward and back, and February has 29 days.
var dates = []struct {
	name, zone string
	midnight   time.Time
}{
	{"spring", "Europe/Berlin", time.Date(2000, time.March, 26, 0, 0, 0, 0, time.UTC)},
	{"autumn", "Europe/Berlin", time.Date(2000, time.October, 29, 0, 0, 0, 0, time.UTC)},
	{"leap day", "Pacific/Auckland", time.Date(2000, time.February, 29, 0, 0, 0, 0, time.UTC)},
}

// TestDay runs half a day in spring and one in autumn. With SUNSET_LONG=1, it runs thirty whole days, each with other random users.
func TestDay(t *testing.T) {
	seeds := uint64(2)
	if long.Enabled() {
		seeds = 30
	}
	for seed := range seeds {
		date := dates[seed%uint64(len(dates))]
		t.Run(fmt.Sprintf("%s, seed %d", date.name, seed), func(t *testing.T) {
			inZone(t, date.zone)
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(date.midnight))
				live(t, seed)
			})
			t.Logf("in %s", time.Since(began).Round(time.Millisecond))
		})
	}
}

// inZone sets the local time zone of the process, as TZ does.
func inZone(t *testing.T, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	expect.NoError(t, err)
	before := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = before })
}

func live(t *testing.T, seed uint64) {
	d := newDay(t, seed)
	d.settle = synctest.Wait
	d.begin()
	for end := time.Now().Add(lasts()); time.Now().Before(end) && d.faults == 0; {
		for minute := time.Now().Add(time.Minute); time.Now().Before(minute); {
			time.Sleep(time.Duration(1+d.users.IntN(5000)) * time.Millisecond)
			d.live()
		}
		d.settle()
		d.locked(d.check)
	}
	d.evening()
	t.Log(d.sum())
	if d.waited == 0 && lasts() >= 12*time.Hour {
		t.Error("windows and freezes have deferred nothing")
	}
}

func newDay(t *testing.T, seed uint64) *day {
	scheme := runtime.NewScheme()
	expect.NoError(t, v1alpha1.AddToScheme(scheme))
	expect.NoError(t, corev1.AddToScheme(scheme))
	d := &day{T: t, settle: func() {}, bucket: newBucket(), compiler: fixture.Compiler(t), users: rand.New(rand.NewPCG(seed, 1))}
	d.server = &server{random: rand.New(rand.NewPCG(seed, 2)), things: map[string]*thing{}, all: map[schema.GroupVersionKind][]*thing{}, watches: map[*watch]struct{}{}}
	d.model = &model{open: d.open, recorded: d.bucket.has, removals: map[version]bool{}, T: t, plans: []dated{firstPlan.dated(d.compiler)}, deleted: map[string]int{}, late: map[string]time.Duration{}, known: map[opening][]span{}, things: func(kind schema.GroupVersionKind) []*thing {
		return d.server.all[kind]
	}}
	d.stored = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ClusterRetentionPolicy{}).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "uid-cluster"}}, &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "snapshots", UID: snapshotsUID}}).Build()
	return d
}

// documents splits a text into its YAML documents.
func documents(text string) iter.Seq[string] { return slices.Values(strings.Split(text, "\n---\n")) }

func (d *day) locked(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// begin starts a process and gives it time to list everything.
func (d *day) begin() {
	d.now = d.start(time.Duration(d.users.Int64N(int64(2*most))) - most)
	time.Sleep(5 * time.Second)
	d.settle()
	d.locked(func() {
		d.up = time.Now()
		for _, o := range d.all[previews] {
			d.seen(o)
		}
	})
}

// end ends the current process. If the mark of a Preview does not record its last use yet, that use is forgotten.
func (d *day) end(how func(*process)) {
	how(d.now)
	d.now = nil
	d.locked(d.unsee)
}

func (d *day) unsee() {
	d.up = time.Time{}
	for _, o := range d.all[previews] {
		if at := d.markOf(o); !at.IsZero() && at.Before(o.since) {
			o.since = at
		}
	}
}

// isSeen reports whether a process is watching now.
func (d *day) isSeen() bool { return !d.up.IsZero() }

// unseen records a change of a thing that no process sees: its mark may stay.
func (d *day) unseen(o *thing) {
	if o.remark = time.Now(); o.kind == previews && o.since.IsZero() && o.labels[d.plan().label] == "true" {
		o.since = time.Now()
	}
}

// seen updates the time since which a Preview counts as idle, when a process sees its current state.
func (d *day) seen(o *thing) {
	switch isIdle := o.labels[d.plan().label] == "true"; {
	case o.kind != previews:
	case !isIdle:
		o.since, o.remark = time.Time{}, time.Now()
	case o.since.IsZero():
		o.since, o.remark = time.Now(), time.Now()
	}
}

// evening runs an hour without faults: every due object is deleted, and the ledger agrees with the deletions.
func (d *day) evening() {
	if d.now == nil {
		d.begin()
	}
	d.locked(func() { d.failsWrites, d.doubted, d.disturbed = false, time.Time{}, time.Now() })
	for range 60 {
		time.Sleep(time.Minute)
		d.settle()
		d.locked(d.check)
	}
	d.locked(func() { d.calm = true })
	time.Sleep(2 * time.Minute) // for reads of the objects of doubtful entries
	d.end((*process).stop)
	time.Sleep(time.Second) // for watches to end
	d.counts()
}

// ledger returns the stored ledger of Snapshots.
func (d *day) ledger() *v1alpha1.RetentionLedger {
	l := &v1alpha1.RetentionLedger{}
	if err := d.stored.Get(d.Context(), client.ObjectKey{Name: string(snapshotsUID)}, l); err != nil {
		d.Error(err)
	}
	return l
}

func (d *day) open() (n int) {
	for _, group := range d.ledger().Open {
		n += len(group.Objects)
	}
	return n
}

// counts compares the ledger with the deletions.
func (d *day) counts() {
	l := d.ledger()
	went := int64(d.deleted["Snapshot"])
	extra := l.Total.Deleted + l.Total.Gone - went
	if l.Total.Deleted > went || extra < 0 || extra > int64(len(d.taken)) || went == 0 {
		d.Errorf("Sunset deleted %d Snapshots and users deleted %d; the ledger has total %+v and open %v", went, len(d.taken), l.Total, l.Open)
	}
	d.agree(l)
}

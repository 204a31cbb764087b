// Package day_test has Sunset live through days of simulated time: what lists, watches, judges, marks, deletes and keeps
// ledgers, all of it as it is, before an API server without sockets, with clocks that are wrong, users who change everything,
// policies that are edited, requests that fail, watches that break, and processes that stop, are killed, or go on beside those
// that took over from them. A model without any of Sunset's ideas is asked about every DELETE and every mark, and each minute
// about everything that is there.
package day_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // wherever this runs

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var namespaces = []string{"team-a", "team-b", "team-c"}

// day is one simulated day.
type day struct {
	*testing.T
	*server
	stored    client.Client // ledgers, and statuses of policies
	compiler  *engine.Compiler
	users     *rand.Rand
	processes int
	named     int
	now       *process // nil while there is none
	settle    func()   // waits until nothing happens any more, in a bubble
}

// dates are days that differ, in time zones that differ: clocks are set forward and back, and February has 29 days.
var dates = []struct {
	name, zone string
	midnight   time.Time
}{
	{"spring", "Europe/Berlin", time.Date(2000, time.March, 26, 0, 0, 0, 0, time.UTC)},
	{"autumn", "Europe/Berlin", time.Date(2000, time.October, 29, 0, 0, 0, 0, time.UTC)},
	{"leap day", "Pacific/Auckland", time.Date(2000, time.February, 29, 0, 0, 0, 0, time.UTC)},
}

// TestADay is a day in spring and one in autumn. SUNSET_LONG=1 makes it thirty, with other users each.
func TestADay(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("SUNSET_LONG") != "" {
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

// inZone has the process be somewhere, as TZ does.
func inZone(t *testing.T, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = before })
}

func live(t *testing.T, seed uint64) {
	d := newDay(t, seed)
	d.settle = synctest.Wait
	d.begin()
	for end := time.Now().Add(lasts); time.Now().Before(end) && d.faults == 0; {
		for minute := time.Now().Add(time.Minute); time.Now().Before(minute); {
			time.Sleep(time.Duration(1+d.users.IntN(5000)) * time.Millisecond)
			d.live()
		}
		d.settle()
		d.locked(d.check)
	}
	d.evening()
	t.Log(d.sum())
}

func newDay(t *testing.T, seed uint64) *day {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	d := &day{T: t, settle: func() {}, compiler: compile(), users: rand.New(rand.NewPCG(seed, 1))}
	d.server = &server{random: rand.New(rand.NewPCG(seed, 2)), things: map[string]*thing{}, all: map[schema.GroupVersionKind][]*thing{}, watches: map[*watch]struct{}{}}
	d.model = &model{open: d.open, T: t, plans: []dated{firstPlan.dated(d.compiler)}, deleted: map[string]int{}, late: map[string]time.Duration{}, things: func(kind schema.GroupVersionKind) []*thing {
		return d.server.all[kind]
	}}
	d.stored = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ClusterRetentionPolicy{}).
		WithObjects(&v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "snapshots", UID: snapshotsUID}}).Build()
	return d
}

// documents are those of a text of several.
func documents(text string) iter.Seq[string] { return slices.Values(strings.Split(text, "\n---\n")) }

func (d *day) locked(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// begin has a process, which is given a while to see everything.
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

// end is of the process of now. What nobody has written down of the time in which a Preview was in use nobody knows any more.
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

// isSeen reports whether somebody sees what happens now.
func (d *day) isSeen() bool { return !d.up.IsZero() }

// unseen is a change of a thing that nobody sees: the mark it has may stand.
func (d *day) unseen(o *thing) {
	if o.remark = time.Now(); o.kind == previews && o.since.IsZero() && o.labels[d.plan().label] == "true" {
		o.since = time.Now()
	}
}

// seen settles since when a Preview counts as idle, when somebody sees it as it is.
func (d *day) seen(o *thing) {
	switch isIdle := o.labels[d.plan().label] == "true"; {
	case o.kind != previews:
	case !isIdle:
		o.since, o.remark = time.Time{}, time.Now()
	case o.since.IsZero():
		o.since, o.remark = time.Now(), time.Now()
	}
}

// evening is calm: everything that is due goes, and what was counted is what went.
func (d *day) evening() {
	if d.now == nil {
		d.begin()
	}
	d.locked(func() { d.trouble, d.doubted, d.disturbed = false, time.Time{}, time.Now() })
	for range 60 {
		time.Sleep(time.Minute)
		d.settle()
		d.locked(d.check)
	}
	d.end((*process).stop)
	d.counts()
}

// ledger is that of Snapshots, as it is stored.
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

// counts compares the ledger with what went.
func (d *day) counts() {
	l := d.ledger()
	went := int64(d.deleted["Snapshot"])
	extra := l.Total.Deleted + l.Total.Gone - went
	if l.Total.Deleted > went || extra < 0 || extra > int64(len(d.taken)) || went == 0 {
		d.Errorf("%d Snapshots went, and users deleted %d; the ledger has %+v, and open %v", went, len(d.taken), l.Total, l.Open)
	}
}

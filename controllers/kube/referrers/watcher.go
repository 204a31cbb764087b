// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Options configures a Watcher. All fields but OnStandby are required.
type Options struct {
	Config   *rest.Config
	HTTP     *http.Client
	Clock    clock.WithTicker
	Compiler *engine.Compiler
	Index    *references.Index // receives the references; only this Watcher may write to it
	// OnStandby starts the Watcher before this process leads. Otherwise only the leader, which deletes objects, knows references.
	OnStandby bool
}

// Watcher watches the objects that answer what rules ask about references. Create it with New, set what to watch with Use, and
// run it with Start.
type Watcher struct {
	discovery discovery
	clock     clock.WithTicker
	compiler  *engine.Compiler
	index     *references.Index
	onStandby bool

	mu      lockorder.Mutex[lockorder.Referrers]
	running context.Context // nil before and after Start
	group   sync.WaitGroup  // of the running sources
	asked   references.Asked
	sources map[string]*source // by the key of their Row
	refused []refusal
}

// New returns a Watcher that watches nothing. It returns an error if the configuration is invalid.
func New(o Options) (*Watcher, error) {
	c := rest.CopyConfig(o.Config)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(c, o.HTTP)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		discovery: discovery{client}, clock: o.Clock, compiler: o.Compiler, index: o.Index, onStandby: o.OnStandby,
		asked: references.Asked{}, sources: map[string]*source{},
	}, nil
}

// Use sets the references that policies declare, their invalid declarations, and what rules ask about which kinds. If no rule asks
// anything, nothing is watched. Otherwise Sunset also watches for what rules asked before, so that rules that come and go do not
// list everything again; it forgets kinds about which nothing is declared. When Use returns, no possible target of a new
// declaration counts as unreferenced.
func (w *Watcher) Use(declared []references.Declared, asked references.Asked, misread ...references.InvalidReference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(asked) == 0 {
		clear(w.asked)
	}
	for kind, relations := range asked {
		w.asked[kind] |= relations
	}
	table := &extract.Table{}
	var refused []refusal
	if len(asked) > 0 {
		var unusable []extract.Refused
		table, unusable = extract.NewTable(w.compiler, declared, w.asked)
		maps.DeleteFunc(w.asked, func(kind references.Kind, relations policy.Relations) bool {
			return asked[kind] == 0 && table.Undeclared()[kind] == relations
		})
		for _, r := range unusable {
			refused = append(refused, refusal{r, "", r.UnknownAbout(w.asked)})
		}
		for _, m := range misread {
			refused = append(refused, refusal{extract.Refused{Declared: references.Declared{To: m.To}, Err: errors.New(m.Why)}, m.From, m.About(w.asked)})
		}
	}
	wanted := table.Rows()
	opened := w.open(wanted)
	w.refuse(refused)
	w.index.SetUndeclared(table.Undeclared()) // after what is new is in doubt, and before what is no longer declared is forgotten
	w.close(wanted)
	for _, s := range opened {
		w.start(s)
	}
}

// open adds the new sources to the index, and returns them. If a kind was watched before, the old source stays until the new one is
// completely known, and only the kinds about which the new one reads something else are in doubt.
func (w *Watcher) open(wanted map[string]*extract.Row) []*source {
	var opened []*source
	for key, r := range wanted {
		if w.sources[key] != nil {
			continue
		}
		s := &source{watcher: w, from: w.nameOf(r), row: r, phase: Unknown, why: references.ErrUnlisted, before: w.predecessor(r.Kind, wanted)}
		about := r.About()
		if s.before != nil {
			about = r.Since(s.before.row)
		}
		w.index.Expect(s.from, about...)
		w.sources[key] = s
		opened = append(opened, s)
	}
	return opened
}

// predecessor returns the source of a kind that a new one replaces: one that is completely known, but no longer wanted; nil if there
// is none. From then on it belongs to the new source.
func (w *Watcher) predecessor(kind schema.GroupVersionKind, wanted map[string]*extract.Row) *source {
	for key, s := range w.sources {
		if s.row.Kind != kind || wanted[key] != nil {
			continue
		}
		known := s.handOver()
		if known == s {
			delete(w.sources, key)
		}
		return known
	}
	return nil
}

// nameOf returns a unique name for a source, for messages: Pod, Deployment.v1.apps.
func (w *Watcher) nameOf(r *extract.Row) references.SourceID {
	name := r.Kind.Kind
	if r.Kind.Group != "" {
		name = strings.Join(slices.DeleteFunc([]string{r.Kind.Kind, r.Kind.Version, r.Kind.Group}, func(part string) bool { return part == "" }), ".")
	}
	used := map[string]bool{}
	for _, s := range w.sources {
		for _, from := range s.names() {
			used[string(from)] = true
		}
	}
	for again := name; ; again += " (read again)" { // another one is about to be closed
		if !used[again] {
			return references.SourceID(again)
		}
	}
}

// refuse makes the references of refused declarations unknown. References that were unknown before stay unknown without
// interruption.
func (w *Watcher) refuse(refused []refusal) {
	before := w.refused
	w.refused = refused
	for _, r := range refused {
		w.index.Expect(r.from(), r.about...)
		w.index.Lose(r.from(), r.Err)
	}
	for _, r := range before {
		stays := func(other refusal) bool { return other.from() == r.from() }
		if !slices.ContainsFunc(refused, stays) {
			w.index.Forget(r.from())
		}
	}
}

// refusal is a declaration that cannot be used.
type refusal struct {
	extract.Refused
	at    references.SourceID // its name; empty if its content is its name
	about []references.Kind   // about which it may say something
}

func (r *refusal) from() references.SourceID {
	return cmp.Or(r.at, references.SourceID("the declared references of "+r.From.String()+" to "+string(r.To)+" by "+cmp.Or(r.Names, r.Selector)))
}

// close ends the sources that are no longer wanted.
func (w *Watcher) close(wanted map[string]*extract.Row) {
	for key, s := range w.sources {
		if wanted[key] == nil {
			s.close()
			delete(w.sources, key)
		}
	}
}

func (w *Watcher) start(s *source) {
	if w.running == nil {
		return
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(w.running)
	w.group.Go(func() { s.run(ctx) })
}

// checkEvery is how often sources check whether they may have missed changes.
const checkEvery = time.Second

// Start runs the sources until ctx ends. It returns nil.
func (w *Watcher) Start(ctx context.Context) error {
	w.mu.Lock()
	w.running = ctx
	for _, s := range w.sources {
		w.start(s)
	}
	w.mu.Unlock()
	ticker := w.clock.NewTicker(checkEvery)
	defer ticker.Stop()
	last, slept := w.clock.Now(), false
	for {
		select {
		case <-ctx.Done():
			w.end()
			return nil
		case <-ticker.C():
			now := w.clock.Now()
			w.check(slept || elapsed(now, last) > outOfTouch)
			last = w.clock.Now() // a check can wait for a source that publishes a long list
			slept = jump(last, now) > outOfTouch
		}
	}
}

// check checks all sources. If the machine was suspended or a clock was set, the age of the known references is unknown: then
// every source lists again.
func (w *Watcher) check(slept bool) {
	for _, s := range w.all() {
		if slept {
			s.restart()
		}
		s.check()
	}
}

// end prevents the start of further sources, and waits for the running ones.
func (w *Watcher) end() {
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
	w.group.Wait()
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *Watcher) NeedLeaderElection() bool { return !w.onStandby }

func (w *Watcher) all() []*source {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.sources))
}

// Phase says how much is known about a kind of referrers.
type Phase string

const (
	Unknown Phase = "Unknown" // there may be objects that Sunset does not know
	Watched Phase = "Watched" // all objects are known
	Absent  Phase = "Absent"  // the API server does not have the kind
)

// State is the state of one kind of referrers.
type State struct {
	Kind  schema.GroupVersionKind
	From  references.SourceID // its name in the index
	About []references.Kind   // the kinds that depend on it
	Phase Phase
	Why   error // of Unknown: what is unknown, or what to do

	Resource schema.GroupResource // the resource of the kind; zero until it is known
	Denied   bool                 // the permission to list and watch it is missing
}

// States returns the states of all kinds of referrers, sorted by group, kind and version. A kind occurs twice while it is listed again
// because rules ask more. It is empty while no rule reads references.
func (w *Watcher) States() []State {
	var all []State
	for _, s := range w.all() {
		all = append(all, s.states()...)
	}
	w.mu.Lock()
	for _, r := range w.refused {
		all = append(all, State{Kind: r.From, From: r.from(), About: r.about, Phase: Unknown, Why: r.Err})
	}
	w.mu.Unlock()
	slices.SortStableFunc(all, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Kind.Version, b.Kind.Version))
	})
	return all
}

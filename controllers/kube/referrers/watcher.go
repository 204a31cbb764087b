package referrers

import (
	"cmp"
	"context"
	"errors"
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
)

// Options is what a Watcher is made of. All are required.
type Options struct {
	Config   *rest.Config
	HTTP     *http.Client
	Clock    clock.WithTicker
	Compiler *engine.Compiler
	Index    *references.Index // is told what refers to what; by nobody else
}

// Watcher watches what refers to the kinds that rules ask about. Create it with New, tell it what to watch with Use, and
// Start it.
type Watcher struct {
	discovery discovery
	clock     clock.WithTicker
	compiler  *engine.Compiler
	index     *references.Index

	mu      lockorder.Mutex[lockorder.Referrers]
	running context.Context    // nil until Start, and after it
	group   sync.WaitGroup     // of sources that run
	sources map[string]*source // by what they read
	refused []refusal
}

// New makes a Watcher that watches nothing. The error says that the configuration cannot be used.
func New(o Options) (*Watcher, error) {
	c := rest.CopyConfig(o.Config)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(c, o.HTTP)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		discovery: discovery{client}, clock: o.Clock, compiler: o.Compiler, index: o.Index, sources: map[string]*source{},
	}, nil
}

// referable are the kinds that may be referred to.
var referable = []references.Kind{references.ConfigMap, references.Secret}

// Use says what policies declare, and fail to, and which kinds their rules ask about; of none nothing is watched. Where they ask
// about any, what refers to each is: else the first rule about another kind would have everything listed again, and make nothing
// of what was known before. When it returns, nothing counts as unreferenced that what is newly declared may refer to.
func (w *Watcher) Use(declared []references.Declared, kinds []references.Kind, misread ...references.InvalidReference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := map[string]*extract.Row{}
	var refused []refusal
	if len(kinds) > 0 {
		table, unusable := extract.NewTable(w.compiler, declared)
		for _, r := range unusable {
			refused = append(refused, refusal{Refused: r})
		}
		for _, m := range misread {
			refused = append(refused, refusal{extract.Refused{Declared: references.Declared{To: m.To}, Err: errors.New(m.Why)}, m.From})
		}
		wanted = table.Rows(referable)
	}
	opened := w.open(wanted)
	w.refuse(refused)
	w.close(wanted)
	for _, s := range opened {
		w.start(s)
	}
}

// open makes the index expect the sources that are new.
func (w *Watcher) open(wanted map[string]*extract.Row) []*source {
	var opened []*source
	for key, r := range wanted {
		if w.sources[key] != nil {
			continue
		}
		s := &source{watcher: w, from: w.nameOf(r), row: r, phase: Unknown, why: errUnlisted}
		w.index.Expect(s.from, r.To()...)
		w.sources[key] = s
		opened = append(opened, s)
	}
	return opened
}

// nameOf gives a source a name that no other has, as people read it: Pod, Deployment.v1.apps.
func (w *Watcher) nameOf(r *extract.Row) references.SourceID {
	name := r.Kind.Kind
	if r.Kind.Group != "" {
		name = strings.Join([]string{r.Kind.Kind, r.Kind.Version, r.Kind.Group}, ".")
	}
	for _, s := range w.sources {
		if string(s.from) == name {
			return references.SourceID(name + " (read again)") // the other one is about to be closed
		}
	}
	return references.SourceID(name)
}

// refuse makes what refused declarations may refer to unknown. What was so before stays so all the time.
func (w *Watcher) refuse(refused []refusal) {
	before := w.refused
	w.refused = refused
	for _, r := range before {
		if other := w.refusal(r.from()); other != nil && other.To != r.To {
			w.index.Forget(r.from())
		}
	}
	for _, r := range refused {
		w.index.Expect(r.from(), r.to()...)
		w.index.Lose(r.from(), r.Err)
	}
	for _, r := range before {
		if w.refusal(r.from()) == nil {
			w.index.Forget(r.from())
		}
	}
}

// refusal is the refused declaration of a name; nil for none.
func (w *Watcher) refusal(name references.SourceID) *refusal {
	for i := range w.refused {
		if w.refused[i].from() == name {
			return &w.refused[i]
		}
	}
	return nil
}

// refusal is a declaration that cannot be used.
type refusal struct {
	extract.Refused
	at references.SourceID // what people call it; empty where what it says is its name
}

func (r *refusal) from() references.SourceID {
	return cmp.Or(r.at, references.SourceID("the declaration about "+r.From.String()+" as "+r.Names))
}

func (r *refusal) to() []references.Kind {
	if r.To == references.ConfigMap || r.To == references.Secret {
		return []references.Kind{r.To}
	}
	return slices.Clone(referable)
}

// close ends the sources that are not wanted any more.
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

// checkEvery is how often sources are asked whether they are still in touch with the API server.
const checkEvery = time.Second

// Start runs until ctx ends.
func (w *Watcher) Start(ctx context.Context) error {
	w.mu.Lock()
	w.running = ctx
	for _, s := range w.sources {
		w.start(s)
	}
	w.mu.Unlock()
	ticker := w.clock.NewTicker(checkEvery)
	defer ticker.Stop()
	last := w.clock.Now()
	for {
		select {
		case <-ctx.Done():
			w.end()
			return nil
		case <-ticker.C():
			now := w.clock.Now()
			w.check(elapsed(now, last) > outOfTouch)
			last = now
		}
	}
}

// check looks at all sources. If this process has slept, or a clock was set, nobody can tell since when something is as it
// is: then all is read again.
func (w *Watcher) check(slept bool) {
	for _, s := range w.all() {
		if slept {
			s.restart()
		}
		s.check()
	}
}

// end starts no more sources and waits for those that run.
func (w *Watcher) end() {
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
	w.group.Wait()
}

// NeedLeaderElection says that only the leader deletes, and so needs to know.
func (w *Watcher) NeedLeaderElection() bool { return true }

func (w *Watcher) all() []*source {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*source, 0, len(w.sources))
	for _, s := range w.sources {
		all = append(all, s)
	}
	return all
}

// Phase is how much is known of a referring kind.
type Phase string

const (
	Unknown Phase = "Unknown" // there may be objects nobody has seen
	Watched Phase = "Watched" // all are known
	Absent  Phase = "Absent"  // the API server has no such kind
)

// State is how one referring kind stands.
type State struct {
	Kind  schema.GroupVersionKind
	From  references.SourceID // what the index calls it
	To    []references.Kind   // what it may refer to, whether rules ask about that or not
	Phase Phase
	Why   error // of Unknown: what nobody knows, or what to do

	Resource schema.GroupResource // that serves the kind; zero until that is known
	Denied   bool                 // it may not be listed and watched
}

// States lists the referring kinds by group, kind and version. While no rule asks there are none.
func (w *Watcher) States() []State {
	var all []State
	for _, s := range w.all() {
		all = append(all, s.state())
	}
	w.mu.Lock()
	for _, r := range w.refused {
		all = append(all, State{Kind: r.From, From: r.from(), To: r.to(), Phase: Unknown, Why: r.Err})
	}
	w.mu.Unlock()
	slices.SortStableFunc(all, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Kind.Version, b.Kind.Version))
	})
	return all
}

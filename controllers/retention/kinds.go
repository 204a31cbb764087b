package retention

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// watched is one kind with the feed its index lives on, and during a change of rules the one that will take over.
type watched struct {
	index    *index.Index
	pipeline *pipeline
	current  *feed
	pending  *feed
}

func (w *watched) state() KindState {
	s := KindState{Index: w.index, Relisting: w.pending != nil}
	for _, f := range []*feed{w.current, w.pending} { // what will be matters more than what was
		if f != nil {
			s.Kind = f.listing.Kind
		}
		if f != nil && f.lost != nil {
			s.Lost = f.lost
		}
		if f != nil && f.undeletable != nil {
			s.Undeletable = f.undeletable
		}
	}
	return s
}

// Use puts rules in force; programs has the compiled rule for each Key. It lists nothing unless a rule asks something
// new of its kind, and then beside the facts at hand, which stay in use until the new ones are complete.
func (r *Reconciler) Use(book *policy.Book, programs map[string]*engine.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book, r.programs = book, programs
	if r.running != nil && r.running.Err() == nil {
		r.follow()
	}
}

// begin lets feeds run, and starts those of the rules known by now.
func (r *Reconciler) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = ctx
	r.follow()
}

// follow makes the watched kinds those of the book.
func (r *Reconciler) follow() {
	now := r.Clock.Now()
	for kind, w := range r.kinds {
		if len(r.questions(kind)) == 0 {
			w.index.SetBook(r.book, now) // what is queued already is judged by it
			w.current.stop()
			w.pending.stop()
			w.pipeline.stop()
			delete(r.kinds, kind)
		}
	}
	for _, kind := range r.book.Kinds() {
		columns := r.questions(kind)
		if len(columns) == 0 {
			continue
		}
		w := r.kinds[kind]
		if w == nil {
			w = &watched{index: index.New(kind, r.nudge)}
			w.pipeline = newPipeline(r, w)
			r.feeds.Go(func() { w.pipeline.run(r.running) })
			r.kinds[kind] = w
		}
		w.index.SetBook(r.book, now)
		r.ask(w, r.book.Version(kind), columns)
	}
	r.nudge()
}

// questions are the facts keys that rules about a kind need; none when no rule could delete any of it.
func (r *Reconciler) questions(kind schema.GroupKind) []string {
	var keys []string
	useful := false
	for _, rule := range r.book.Rules(kind) {
		if _, ok := r.programs[rule.Key]; !ok {
			continue
		}
		useful = useful || !rule.Invalid()
		keys = append(keys, rule.Key)
	}
	if !useful {
		return nil
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ask makes sure that the kind's facts answer the columns, now or when a new listing is complete.
func (r *Reconciler) ask(w *watched, gvk schema.GroupVersionKind, columns []string) {
	switch {
	case w.current.answers(gvk, columns):
		w.pending.stop()
		w.pending = nil
		return
	case w.pending.answers(gvk, columns):
		return
	}
	w.pending.stop()
	rules := make([]*engine.Rule, len(columns))
	for i, key := range columns {
		rules[i] = r.programs[key]
	}
	r.listings++
	ctx, cancel := context.WithCancel(r.running)
	w.pending = &feed{
		owner:   r,
		kind:    w,
		listing: index.Listing{ID: r.listings, Kind: gvk, Columns: columns},
		source:  r.Sources.Open(gvk, rules),
		cancel:  cancel,
	}
	f := w.pending
	r.feeds.Go(func() { f.source.Run(ctx, f) })
}

// nudge makes the clock look again. It never blocks.
func (r *Reconciler) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// feed brings the subjects of one kind into its index. It is the Sink of its source.
type feed struct {
	owner   *Reconciler
	kind    *watched
	listing index.Listing
	source  Source
	cancel  context.CancelFunc

	lost        *Trouble // guarded by the owner's mu, as the next
	undeletable *Trouble
}

func (f *feed) stop() {
	if f != nil {
		f.cancel()
	}
}

// answers reports whether the feed reads the kind at this version and its rows have facts for all the columns.
func (f *feed) answers(gvk schema.GroupVersionKind, columns []string) bool {
	return f != nil && f.listing.Kind == gvk && !slices.ContainsFunc(columns, func(key string) bool { return !slices.Contains(f.listing.Columns, key) })
}

// Replace implements Sink. A pending feed takes over here.
func (f *feed) Replace(rows []*index.Row) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	if f.kind.pending == f {
		f.kind.current.stop()
		f.kind.current, f.kind.pending = f, nil
	}
	if f.kind.current != f {
		return
	}
	f.lost = nil
	f.kind.index.Replace(f.listing, rows, f.owner.Clock.Now())
}

// Apply implements Sink.
func (f *feed) Apply(row *index.Row) { f.kind.index.Apply(f.listing, row, f.owner.Clock.Now()) }

// Forget implements Sink.
func (f *feed) Forget(uid types.UID) { f.kind.index.Forget(f.listing, uid) }

// Lost implements Sink.
func (f *feed) Lost(why *Trouble) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	f.lost = why
	f.kind.index.Distrust(f.listing)
}

// Undeletable implements Sink.
func (f *feed) Undeletable(why *Trouble) {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	f.undeletable = why
}

// reread brings the newest version of a subject into the index, past the watch.
func (r *Reconciler) reread(ctx context.Context, w *watched, s policy.Subject) error {
	r.mu.Lock()
	f := w.current
	r.mu.Unlock()
	if f == nil {
		return nil
	}
	row, err := f.source.Read(ctx, s)
	switch {
	case err != nil:
		return err
	case row == nil:
		f.Forget(s.UID)
	default:
		w.index.Refresh(f.listing, row, r.Clock.Now())
	}
	return nil
}

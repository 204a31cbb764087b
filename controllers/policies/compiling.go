package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
)

const (
	compileWait = 250 * time.Millisecond // for how long a check waits for a policy that has just been edited
	restFactor  = 10                     // how much longer than it took to compile its policy a namespace waits for its next
	longestRest = 2 * time.Second
	turnFactor  = 100 // and how much longer it comes after others
)

var errCompiling = errors.New("a policy that was edited is being compiled")

// compiling is how edited policies are compiled: under no lock, those of one namespace at a time, and those of the cluster
// beside them. Until a policy is compiled its previous form stays in the book, so that no veto is lost, and the fence stops
// what the new form may concern: the namespace of a RetentionPolicy, or everything for a ClusterRetentionPolicy. Loop.mu
// guards the fields.
type compiling struct {
	running map[bool]bool    // for the cluster, and for namespaces
	rests   map[string]pause // by namespace
	until   time.Time        // namespaces that compile again and again wait for it, so that they take at most half of one processor
	next    chan struct{}    // closed when something was edited or compiled
}

// pause is what a namespace waits for that has compiled.
type pause struct {
	until time.Time // when its next policy may be compiled
	turn  time.Time // if others wait, those come first that have an earlier one, or none
}

// before reports whether a namespace that may compile at a time comes before another.
func (p pause) before(o pause, now time.Time) bool {
	if p.until.After(now) || o.until.After(now) {
		return p.until.Before(o.until)
	}
	return p.turn.Before(o.turn)
}

// changed wakes all goroutines that wait for an edit, or for its result.
func (c *compiling) changed() {
	if c.next != nil {
		close(c.next)
	}
	c.next = make(chan struct{})
}

// compiled is the entry in its last form that was compiled; nil for none.
func (e *entry) compiled() *entry {
	if e == nil || e.written == nil {
		return e
	}
	return e.before
}

// edit notes a policy that says something new, which is compiled soon.
func (l *Loop) edit(on shelf, object *unstructured.Unstructured) {
	e := entryOf(object)
	e.written, e.shelf = object, on
	if known := on.all[keyOf(object)]; known != nil {
		e.before = known.value.compiled()
	}
	on.put(object, e)
	l.compiling.changed()
	if l.compiling.running == nil {
		l.compiling.running = map[bool]bool{}
	}
	if ofCluster := object.GetNamespace() == ""; !l.compiling.running[ofCluster] {
		l.compiling.running[ofCluster] = true
		go l.compileAll(ofCluster)
	}
}

// compileAll compiles what was edited, of the cluster or of namespaces, until there is no more.
func (l *Loop) compileAll(ofCluster bool) {
	for {
		l.mu.Lock()
		edits, rest, next := l.nextEdits(ofCluster)
		if len(edits) == 0 {
			l.compiling.running[ofCluster] = false
			l.compiling.changed()
		}
		l.mu.Unlock()
		switch {
		case len(edits) == 0:
			return
		case rest > 0:
			select {
			case <-next:
			case <-l.Clock.After(rest):
			}
		default:
			l.compileEdits(edits)
		}
	}
}

// nextEdits are what to compile next, and how long before: all ClusterRetentionPolicies, or all RetentionPolicies of one namespace:
// of those whose rest has ended the one whose turn it is, else the one whose rest ends first. What waits for the rest looks again when next is closed.
func (l *Loop) nextEdits(ofCluster bool) (edits []*entry, rest time.Duration, next <-chan struct{}) {
	now := l.Clock.Now()
	maps.DeleteFunc(l.compiling.rests, func(_ string, p pause) bool { return !now.Before(p.turn) })
	byNamespace := map[string][]*entry{}
	for _, e := range l.uncompiled() {
		if (e.written.GetNamespace() == "") != ofCluster {
			continue
		}
		byNamespace[e.written.GetNamespace()] = append(byNamespace[e.written.GetNamespace()], e)
	}
	var first pause
	for namespace, all := range byNamespace {
		if own := l.compiling.rests[namespace]; edits == nil || own.before(first, now) {
			edits, first = all, own
		}
	}
	if until := l.compiling.until; !first.turn.IsZero() && first.until.Before(until) {
		first.until = until
	}
	return edits, first.until.Sub(now), l.compiling.next
}

// compileEdits compiles policies of one namespace, or of the cluster, and puts them in force at once, but for those that have
// been edited again or are gone.
func (l *Loop) compileEdits(edits []*entry) {
	began := l.Clock.Now()
	slices.SortFunc(edits, func(a, b *entry) int { return cmp.Compare(a.written.GetName(), b.written.GetName()) })
	taken := l.takenBesides(edits)
	done := make([]*entry, len(edits))
	for i, e := range edits {
		done[i] = l.compile(context.Background(), e.written, taken)
		if e.written.GetNamespace() != "" {
			taken += done[i].takes()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest(edits[0].written.GetNamespace(), began)
	for i, e := range edits {
		if known, _ := e.shelf.get(e.written); known == e {
			e.become(l, done[i])
		}
	}
	l.settle()
	l.compiling.changed()
}

// takenBesides is how much room the policies of the namespace take that are not edited.
func (l *Loop) takenBesides(edits []*entry) (taken int) {
	namespace := edits[0].written.GetNamespace()
	if namespace == "" {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.namespaced.all {
		if e := s.value; e.written == nil && e.policy.Namespace == namespace {
			taken += e.takes()
		}
	}
	return taken
}

// rest has a namespace wait for its next edits, by how long its last took.
func (l *Loop) rest(namespace string, began time.Time) {
	took := l.Clock.Since(began)
	if namespace == "" || took <= 0 || !l.complete {
		return
	}
	if l.compiling.rests == nil {
		l.compiling.rests = map[string]pause{}
	}
	now := l.Clock.Now()
	l.compiling.until = now.Add(min(took, longestRest))
	l.compiling.rests[namespace] = pause{until: now.Add(min(restFactor*took, longestRest)), turn: now.Add(turnFactor * took)}
}

// become puts what was compiled in the place of what was written.
func (e *entry) become(l *Loop, done *entry) {
	before := e.before
	if before != nil && before.policy.UID != e.written.GetUID() {
		before = nil
	}
	done.previews = previewsOf(e.written, done.policy, before, l.Clock.Now())
	if !l.complete {
		done.previews.recount = l.statuses[e.written.GetUID()].Enforced
	}
	if known := done.previews.recount; known != nil && done.policy.Approved == done.policy.RecountHash(known.Time.Time) {
		done.previews.recount = nil
	}
	l.noteMarks(done, before, l.statuses[e.written.GetUID()])
	done.shelf = e.shelf
	e.shelf.all[keyOf(e.written)].value = done
	l.dirty = true
}

// takes is how much room of its namespace the policy takes.
func (e *entry) takes() int {
	if e.refused != nil {
		return 0
	}
	return e.size
}

// reconsider compiles the policies again that their namespaces had no room for and now have.
func (l *Loop) reconsider() {
	taken := map[string]int{}
	var refused []*entry
	for _, s := range l.namespaced.all {
		switch e := s.value; {
		case e.written != nil:
			taken[e.written.GetNamespace()] = engine.MaxNamespaceSize // when it is compiled they are considered again
		case e.refused != nil:
			refused = append(refused, e)
		default:
			taken[e.policy.Namespace] += e.takes()
		}
	}
	for _, e := range refused {
		if taken[e.policy.Namespace]+e.size <= engine.MaxNamespaceSize {
			l.edit(e.shelf, e.refused)
		}
	}
}

// settle publishes what has changed, once everything has been read and compiled.
func (l *Loop) settle() {
	if l.dirty {
		l.reconsider()
	}
	if !l.complete && l.cachesRead && len(l.uncompiled()) == 0 {
		l.complete, l.dirty, l.statuses = true, true, nil
	}
	if l.complete && l.dirty {
		l.publish()
	}
}

// uncompiled are the policies that wait to be compiled.
func (l *Loop) uncompiled() []*entry {
	var all []*entry
	for _, shelf := range l.shelves() {
		for _, s := range shelf.all {
			if s.value.written != nil {
				all = append(all, s.value)
			}
		}
	}
	return all
}

// compilingFor is why nothing may go in a namespace while a policy that may concern it is compiled.
func (l *Loop) compilingFor(namespace string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compilingIn(namespace)
}

func (l *Loop) compilingIn(namespace string) error {
	var found error
	for _, e := range l.uncompiled() {
		switch e.written.GetNamespace() {
		case "":
			return fmt.Errorf("%w: %s", errCompiling, e.written.GetName())
		case namespace:
			found = fmt.Errorf("%w: %w: %s", retention.ErrNamespace, errCompiling, keyOf(e.written))
		}
	}
	return found
}

// busy is why not all of what was read is in force.
func (l *Loop) busy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uncompiled()) > 0 {
		return errCompiling
	}
	return nil
}

// awaitCompiled waits until busy gives nil, or ctx ends.
func (l *Loop) awaitCompiled(ctx context.Context, busy func() error) error {
	for {
		l.mu.Lock()
		next := l.compiling.next
		l.mu.Unlock()
		err := busy()
		if err == nil {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return err
		}
	}
}

package policyset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// compileWait is how long a check waits until a policy that has just been edited is compiled.
const compileWait = 250 * time.Millisecond

var errCompiling = errors.New("the controller is compiling an edited policy")

// compiling is the state of the goroutines that compile edited policies, without a lock: one for the RetentionPolicies, those of one
// namespace at a time, and one for the ClusterRetentionPolicies. Until a policy is compiled, its previous form stays in the snapshot, so that
// it keeps what it kept before, and preflight stops deletions that the new form may prevent: in the namespace of a RetentionPolicy,
// and everywhere for a ClusterRetentionPolicy. Reconciler.mu guards the fields.
type compiling struct {
	running map[bool]bool    // true: for ClusterRetentionPolicies; false: for RetentionPolicies
	rests   map[string]pause // by namespace
	until   time.Time        // namespaces that have compiled before wait until then, so that they use at most a quarter of one CPU
	next    chan struct{}    // closed when something was edited or compiled
}

// changed wakes all goroutines that wait for an edit, or for its result.
func (c *compiling) changed() {
	if c.next != nil {
		close(c.next)
	}
	c.next = make(chan struct{})
}

// compiled is the last form of the entry that was compiled; nil for none.
func (e *entry) compiled() *entry {
	if e == nil || e.written == nil {
		return e
	}
	return e.before
}

// edit records a policy that is new or was edited, and has it compiled soon.
func (l *Reconciler) edit(on policyCollection, object *unstructured.Unstructured) {
	e := entryOf(object)
	e.written, e.collection, e.length = object, on, textLength(object.Object["spec"])
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

// compileAll compiles edited policies, ClusterRetentionPolicies or RetentionPolicies, until there are no more.
func (l *Reconciler) compileAll(ofCluster bool) {
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

// compileEdits compiles policies of one namespace, or of the cluster, and puts them in force at the same time, except those that have
// been edited again or deleted meanwhile.
func (l *Reconciler) compileEdits(edits []*entry) {
	began := l.Clock.Now()
	slices.SortFunc(edits, func(a, b *entry) int { // the oldest first: after a restart the same have room in their namespace
		return cmp.Or(a.written.GetCreationTimestamp().Compare(b.written.GetCreationTimestamp().Time), cmp.Compare(a.written.GetName(), b.written.GetName()))
	})
	taken := l.takenBesides(edits)
	done, statuses := make([]*entry, len(edits)), make([]v1alpha1.RetentionPolicyStatus, len(edits))
	for i, e := range edits {
		done[i] = l.compile(context.Background(), e.written, taken)
		done[i].collection = e.collection
		statuses[i] = statusOf(e.written)
		if e.written.GetNamespace() != "" {
			taken += done[i].takes()
		}
	}
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.become(edits, done, statuses)
	l.publish()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest(edits[0].written.GetNamespace(), began) // putting them in force is paid for, too
	l.compiling.changed()
}

// become replaces entries by their compiled forms, given the statuses that they were written with. The caller holds publishing.
func (l *Reconciler) become(edits, done []*entry, statuses []v1alpha1.RetentionPolicyStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range edits {
		if known, _ := e.collection.get(e.written); known == e {
			e.become(l, done[i], statuses[i])
		}
	}
}

// takenBesides is the size of the expressions of the other policies of the namespace.
func (l *Reconciler) takenBesides(edits []*entry) (taken int) {
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

// become replaces the entry by its compiled form.
func (e *entry) become(l *Reconciler, done *entry, status v1alpha1.RetentionPolicyStatus) {
	before := e.before
	if before != nil && before.policy.UID != e.written.GetUID() {
		before = nil
	}
	if read, ok := l.statuses[e.written.GetUID()]; ok {
		status = read
	}
	done.policy.Accepted = isAccepted(done.policy, before, status)
	done.previews = previewsOf(status, done.policy, before, l.Clock.Now())
	l.noteMarks(done, before, l.statuses[e.written.GetUID()])
	e.collection.all[keyOf(e.written)].value = done
	l.changes.in(e.written.GetNamespace())
}

// takes is how much of the maximum size of its namespace the policy uses.
func (e *entry) takes() int {
	if e.refused != nil {
		return 0
	}
	return e.size
}

// reconsider compiles policies again that were too large for their namespaces, and fit now.
func (l *Reconciler) reconsider() {
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
			l.edit(e.collection, e.refused)
		}
	}
}

// compilingFor is an error while something is not in force that may keep objects of a namespace: a policy that is being compiled, or any
// other change.
func (l *Reconciler) compilingFor(namespace string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.compilingIn(namespace), l.changes.inForce(namespace))
}

func (l *Reconciler) compilingIn(namespace string) error {
	var found error
	for _, e := range l.uncompiled() {
		switch e.written.GetNamespace() {
		case "":
			return fmt.Errorf("%w: %s", errCompiling, e.written.GetName())
		case namespace:
			found = fmt.Errorf("%w: %w: %s", preflight.ErrNamespace, errCompiling, keyOf(e.written))
		}
	}
	return found
}

// busy is an error while policies are being compiled.
func (l *Reconciler) busy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uncompiled()) > 0 {
		return errCompiling
	}
	return nil
}

// awaitCompiled waits until busy returns nil, or ctx ends.
func (l *Reconciler) awaitCompiled(ctx context.Context, busy func() error) error {
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

// firstProblems are the texts of problems, as many as a line of the log has room for.
func firstProblems(all []policy.Problem) (texts []string) {
	const most = 5
	for _, p := range all[:min(len(all), most)] {
		texts = append(texts, p.String())
	}
	if more := len(all) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

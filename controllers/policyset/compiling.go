// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// compileWait is how long a check waits for an edited policy to be compiled.
const compileWait = 250 * time.Millisecond

var errCompiling = errors.New("the controller is compiling an edited policy")

// compiling is the state of the goroutines that compile edited policies without holding a lock. One goroutine compiles
// RetentionPolicies, those of one namespace at a time, and another one compiles ClusterRetentionPolicies. Until a policy is
// compiled, its previous version stays in the snapshot and keeps the same objects as before. Preflight stops deletions that the
// new version may prevent: in the namespace of a RetentionPolicy, and everywhere for a ClusterRetentionPolicy. Reconciler.mu
// guards the fields.
type compiling struct {
	running map[bool]bool    // true: for ClusterRetentionPolicies; false: for RetentionPolicies
	rests   map[string]pause // by namespace
	until   time.Time        // namespaces that have compiled before wait until then: they use at most a quarter of one CPU
	changed wake.Broadcast   // a policy was edited or compiled
}

// compiled returns the last compiled version of the entry; nil for none.
func (e *entry) compiled() *entry {
	if e == nil || e.written == nil {
		return e
	}
	return e.before
}

// edit records a policy that is new or was edited, and starts its compilation.
func (l *Reconciler) edit(on policyCollection, object *unstructured.Unstructured) {
	e := entryOf(object, on.approvals.of(object, l.Clock.Now()))
	e.written, e.collection, e.length = object, on, textLength(object.Object["spec"])
	if known := on.all[keyOf(object)]; known != nil {
		e.before = known.value.compiled()
	}
	on.put(object, e)
	l.compiling.changed.Send()
	if l.compiling.running == nil {
		l.compiling.running = map[bool]bool{}
	}
	if ofCluster := object.GetNamespace() == ""; !l.compiling.running[ofCluster] {
		l.compiling.running[ofCluster] = true
		go l.compileAll(ofCluster)
	}
}

// compileAll compiles edited policies, either ClusterRetentionPolicies or RetentionPolicies, until none is left.
func (l *Reconciler) compileAll(ofCluster bool) {
	for {
		l.mu.Lock()
		edits, rest, next := l.nextEdits(ofCluster)
		if len(edits) == 0 {
			l.compiling.running[ofCluster] = false
			l.compiling.changed.Send()
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

// compileEdits compiles policies of one namespace, or of the cluster, and publishes them at the same time. It skips policies
// that were edited again or deleted during the compilation.
func (l *Reconciler) compileEdits(edits []*entry) {
	began := l.Clock.Now()
	slices.SortFunc(edits, func(a, b *entry) int { // oldest first: after a restart the same policies fit in their namespace
		return cmp.Or(a.written.GetCreationTimestamp().Compare(b.written.GetCreationTimestamp().Time), cmp.Compare(a.written.GetName(), b.written.GetName()))
	})
	taken := l.takenBesides(edits)
	done, statuses := make([]*entry, len(edits)), make([]v1alpha1.RetentionPolicyStatus, len(edits))
	for i, e := range edits {
		done[i] = l.compile(context.Background(), e, taken)
		done[i].collection = e.collection
		statuses[i] = statusOf(e.written)
		if e.written.GetNamespace() != "" {
			taken += done[i].usedSize()
		}
	}
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.become(edits, done, statuses)
	l.publish()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest(edits[0].written.GetNamespace(), began) // the pause also depends on how long publishing took
	l.compiling.changed.Send()
}

// become replaces entries by their compiled versions, given the statuses of the objects as written. The caller holds publishing.
func (l *Reconciler) become(edits, done []*entry, statuses []v1alpha1.RetentionPolicyStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range edits {
		if known, _ := e.collection.get(e.written); known == e {
			e.become(l, done[i], statuses[i])
		}
	}
}

// takenBesides returns the size of the expressions of the other policies of the namespace.
func (l *Reconciler) takenBesides(edits []*entry) (taken int) {
	namespace := edits[0].written.GetNamespace()
	if namespace == "" {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.namespaced.all {
		if e := s.value; e.written == nil && e.policy.Namespace == namespace {
			taken += e.usedSize()
		}
	}
	return taken
}

// become replaces the entry by its compiled version.
func (e *entry) become(l *Reconciler, done *entry, status v1alpha1.RetentionPolicyStatus) {
	before := e.before
	if before != nil && before.policy.UID != e.written.GetUID() {
		before = nil
	}
	if read, ok := l.statuses[e.written.GetUID()]; ok {
		status = read
	}
	done.previews = previewsOf(status, done.policy, before, l.Clock.Now())
	done.policy.Approvals = slices.Sorted(maps.Keys(done.previews.approved))
	l.noteMarks(done, before, l.statuses[e.written.GetUID()])
	e.collection.all[keyOf(e.written)].value = done
	l.changes.in(e.written.GetNamespace())
}

// usedSize returns how much of the maximum size of its namespace the policy uses.
func (e *entry) usedSize() int {
	if e.refused != nil {
		return 0
	}
	return e.size
}

// reconsider compiles policies again that did not fit in their namespaces before, and fit now.
func (l *Reconciler) reconsider() {
	taken := map[string]int{}
	var refused []*entry
	for _, s := range l.namespaced.all {
		switch e := s.value; {
		case e.written != nil:
			taken[e.written.GetNamespace()] = engine.MaxNamespaceSize // they are considered again when it is compiled
		case e.refused != nil:
			refused = append(refused, e)
		default:
			taken[e.policy.Namespace] += e.usedSize()
		}
	}
	for _, e := range refused {
		if taken[e.policy.Namespace]+e.size <= engine.MaxNamespaceSize {
			l.edit(e.collection, e.refused)
		}
	}
}

// compilingFor returns an error while a change that may keep objects of a namespace is not in force: a policy that is being
// compiled, or any other change.
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

// busy returns an error while policies are being compiled.
func (l *Reconciler) busy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uncompiled()) > 0 {
		return errCompiling
	}
	return nil
}

// awaitCompiled waits until busy returns nil or ctx ends. It returns the last error of busy.
func (l *Reconciler) awaitCompiled(ctx context.Context, busy func() error) error {
	for {
		next := l.compiling.changed.C()
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

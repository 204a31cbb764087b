package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Edition is a Book with what belongs to it. It is immutable.
type Edition struct {
	Book     *policy.Book
	Programs map[string]*engine.Rule // by policy.Rule.Key
}

// Loop keeps the Book. Set it up with a manager; Check is its fence.
type Loop struct {
	Cache      client.Reader // of policies and namespaces
	Live       rest.Interface
	Compiler   *engine.Compiler
	Protection policy.Protection
	Clock      clock.PassiveClock
	Leadership interface{ Check() error }
	// Publish is called with every new edition, one call at a time.
	Publish func(Edition)

	failed     chan error // what only a new process can mend
	mu         sync.Mutex
	complete   bool // the caches have been read once
	policies   known[*entry]
	namespaces known[policy.Namespace]

	live freshness
}

// entry is one policy as compiled.
type entry struct {
	generation int64
	policy     *policy.Policy
	programs   map[string]*engine.Rule
}

// Setup registers the loop with a manager.
func (l *Loop) Setup(mgr ctrl.Manager) error {
	l.failed = make(chan error, 1)
	if err := mgr.Add(manager.RunnableFunc(l.untilFailed)); err != nil {
		return err
	}
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(namespaceKind)
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("policies").
		Watches(newPolicy(), everything, builder.WithPredicates(respecified)).
		WatchesMetadata(namespaces, everything, builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(l)
}

// untilFailed ends the manager when nothing that was seen can be trusted any more: a new process starts from nothing.
func (l *Loop) untilFailed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return err
	}
}

func (l *Loop) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// Reconcile reads everything there is, compiles what has changed and publishes. What has been seen live and is newer
// than the cache stays.
func (l *Loop) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	policies := &unstructured.UnstructuredList{}
	policies.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(namespaceKind)
	if err := l.Cache.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list policies: %w", err)
	}
	if err := l.Cache.List(ctx, namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list namespaces: %w", err)
	}
	if l.take(ctx, policies.Items, namespaces.Items) {
		return reconcile.Result{}, nil
	}
	// The cache lacks what was seen live: it is behind, or ahead of a deletion that was never seen.
	if err := l.confirm(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: confirmEvery}, nil
}

// take merges the caches into what is known and publishes if anything has changed. It reports whether the caches have
// everything that is known.
func (l *Loop) take(ctx context.Context, policies []unstructured.Unstructured, namespaces []metav1.PartialObjectMetadata) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := !l.complete
	seen := l.policies.begin()
	for i := range policies {
		changed = l.takePolicy(ctx, &policies[i]) || changed
		seen.cached(&policies[i])
	}
	changed = seen.end() || changed
	names := l.namespaces.begin()
	for i := range namespaces {
		changed = l.takeNamespace(&namespaces[i]) || changed
		names.cached(&namespaces[i])
	}
	changed = names.end() || changed
	l.complete = true
	if changed {
		l.publish()
	}
	return l.policies.allCached() && l.namespaces.allCached()
}

// takePolicy puts a policy in force if it says something new.
func (l *Loop) takePolicy(ctx context.Context, object *unstructured.Unstructured) bool {
	known, ok := l.policies.get(object)
	if ok && known.generation >= object.GetGeneration() || !l.policies.accept(object) {
		return false
	}
	l.policies.put(object, l.compile(ctx, object))
	return true
}

func (l *Loop) takeNamespace(object metav1.Object) bool {
	known, ok := l.namespaces.get(object)
	if !l.namespaces.accept(object) {
		return false
	}
	namespace := policy.NamespaceOf(object.GetLabels(), object.GetAnnotations())
	l.namespaces.put(object, namespace)
	return !ok || !known.Equal(namespace)
}

// compile reads one policy as it is written.
func (l *Loop) compile(ctx context.Context, object *unstructured.Unstructured) *entry {
	e := &entry{generation: object.GetGeneration()}
	data, err := json.Marshal(object.Object)
	var document *policy.Document
	if err == nil {
		document, err = policy.Parse(data)
	}
	if err != nil {
		document = &policy.Document{Problems: []policy.Problem{{Path: "spec", Message: err.Error()}}}
		document.Metadata = metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Generation: e.generation}
		document.Kind = object.GetKind()
	}
	e.policy = document.Load(l.Protection)
	e.programs = l.Compiler.Load(e.policy)
	log.FromContext(ctx).Info("policy read", "policy", e.policy.Name, "mode", e.policy.Mode,
		"generation", e.generation, "problems", len(e.policy.Problems))
	return e
}

// publish makes a new edition of what is known.
func (l *Loop) publish() {
	var policies []*policy.Policy
	programs := map[string]*engine.Rule{}
	for _, e := range l.policies.all {
		policies = append(policies, e.value.policy)
		maps.Copy(programs, e.value.programs)
	}
	namespaces := make(map[string]policy.Namespace, len(l.namespaces.all))
	for name, n := range l.namespaces.all {
		namespaces[name] = n.value
	}
	l.Publish(Edition{Book: policy.NewBook(policies, namespaces, l.Protection), Programs: programs})
}

// respecified lets an update pass when the spec has changed, or the object is another one of the same name.
var respecified = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
}}

// newPolicy is an empty policy for watching: unstructured, so that fields we do not know are not lost on the way.
func newPolicy() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	return u
}

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
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

	mu         sync.Mutex
	complete   bool // both lists have been read once
	policies   map[string]*entry
	removed    map[types.UID]bool // policies that a live list no longer had
	namespaces map[string]namespace
	live       freshness
}

// entry is one policy as compiled.
type entry struct {
	uid        types.UID
	generation int64
	policy     *policy.Policy
	programs   map[string]*engine.Rule
}

// namespace is what the Book needs of one.
type namespace struct {
	version string // resourceVersion
	labels  labels.Set
}

// Setup registers the loop with a manager.
func (l *Loop) Setup(mgr ctrl.Manager) error {
	l.policies = map[string]*entry{}
	l.removed = map[types.UID]bool{}
	l.namespaces = map[string]namespace{}
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(namespaceKind)
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("policies").
		Watches(newPolicy(), everything, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(namespaces, everything, builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(l)
}

// Reconcile reads everything there is, compiles what has changed and publishes. What has been seen live and is newer
// than the cache stays.
func (l *Loop) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	policies := &unstructured.UnstructuredList{}
	policies.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(namespaceKind)
	if err := l.Cache.List(ctx, policies); err != nil {
		return reconcile.Result{}, fmt.Errorf("list policies: %w", err)
	}
	if err := l.Cache.List(ctx, namespaces); err != nil {
		return reconcile.Result{}, fmt.Errorf("list namespaces: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takePolicies(ctx, policies.Items)
	l.takeNamespaces(namespaces.Items)
	l.complete = true
	l.publish()
	return reconcile.Result{}, nil
}

func (l *Loop) takePolicies(ctx context.Context, items []unstructured.Unstructured) {
	cached := map[string]bool{}
	uids := map[types.UID]bool{}
	for i := range items {
		uids[items[i].GetUID()] = true
		if l.removed[items[i].GetUID()] {
			continue
		}
		cached[items[i].GetName()] = true
		if known := l.policies[items[i].GetName()]; known == nil || known.uid != items[i].GetUID() || known.generation < items[i].GetGeneration() {
			l.load(ctx, &items[i])
		}
	}
	for name, known := range l.policies {
		if !cached[name] && !l.live.seen(known.uid) {
			delete(l.policies, name)
		}
	}
	for uid := range l.removed {
		if !uids[uid] {
			delete(l.removed, uid)
		}
	}
}

func (l *Loop) takeNamespaces(items []metav1.PartialObjectMetadata) {
	next := make(map[string]namespace, len(items))
	for i := range items {
		next[items[i].Name] = namespace{version: items[i].ResourceVersion, labels: items[i].Labels}
	}
	l.namespaces = next
}

// load compiles one policy as it is written.
func (l *Loop) load(ctx context.Context, object *unstructured.Unstructured) {
	e := &entry{uid: object.GetUID(), generation: object.GetGeneration()}
	l.policies[object.GetName()] = e
	data, err := json.Marshal(object.Object)
	var document *policy.Document
	if err == nil {
		document, err = policy.Parse(data)
	}
	if err != nil {
		document = &policy.Document{Problems: []policy.Problem{{Path: "spec", Message: err.Error()}}}
		document.Policy.ObjectMeta = metav1.ObjectMeta{Name: object.GetName(), UID: e.uid, Generation: e.generation}
	}
	e.policy = document.Load(l.Protection)
	e.programs = l.Compiler.Load(e.policy)
	log.FromContext(ctx).Info("policy read", "policy", e.policy.Name, "mode", e.policy.Mode,
		"generation", e.generation, "problems", len(e.policy.Problems))
}

// publish makes a new edition of what is known.
func (l *Loop) publish() {
	policies := make([]*policy.Policy, 0, len(l.policies))
	programs := map[string]*engine.Rule{}
	for _, e := range l.policies {
		policies = append(policies, e.policy)
		for key, program := range e.programs {
			programs[key] = program
		}
	}
	namespaces := make(map[string]labels.Set, len(l.namespaces))
	for name, n := range l.namespaces {
		namespaces[name] = n.labels
	}
	l.Publish(Edition{Book: policy.NewBook(policies, namespaces, l.Protection), Programs: programs})
}

// newPolicy is an empty policy for watching: unstructured, so that fields we do not know are not lost on the way.
func newPolicy() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	return u
}

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// within reports whether t is at most d ago.
func (l *Loop) within(t time.Time, d time.Duration) bool { return !t.IsZero() && l.Clock.Since(t) <= d }

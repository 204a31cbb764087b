// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// CompiledSnapshot is a Snapshot with its compiled programs and the state of its inputs. It is immutable.
type CompiledSnapshot struct {
	Snapshot *policy.Snapshot
	Programs map[string]*engine.Program // by policy.Rule.Key
	// QuotasUnread reports that rules use ResourceQuotas, which have not been read yet.
	QuotasUnread bool
	// QuotaError is why ResourceQuotas cannot be read, so that percentOfQuota has no effect; nil when they can be read.
	QuotaError error

	// Outdated are the policies whose dry-run count is out of date, by UID, and since when it is. Sunset counts each of them
	// again, and its Count repeats this time.
	Outdated map[types.UID]time.Time

	// Waiting are the namespaces where a change waits for approval, by the UID of the policy, in any mode and also while the whole
	// policy waits.
	Waiting map[types.UID]policy.ApprovalScope

	// References are the referrers that policies of any mode declare, and ReferencesSince is when this set last changed.
	// Asked is what rules ask about references. InvalidReferences are the declarations that Sunset cannot interpret:
	// no object of their kinds is known to be unused.
	References        []references.Declared
	ReferencesSince   time.Time
	Asked             references.Asked
	InvalidReferences []references.InvalidReference
}

// Compiler compiles the rules of a policy; engine.Compiler implements it. A call may take long, so the Reconciler holds no lock
// during it.
type Compiler interface {
	LoadWithin(p *policy.Policy, room int) (programs map[string]*engine.Program, size int)
}

// Reconciler maintains the Snapshot. Register it with a manager by calling Setup. Check and Permit are live checks of
// preflight.
type Reconciler struct {
	Cache      client.Reader // of policies and namespaces
	Live       rest.Interface
	Compiler   Compiler
	Protection policy.Protection
	DryRun     bool // every policy is a dry run
	Clock      clock.Clock
	Leadership interface{ Check() error }
	// Permissions: whether a rule of a RetentionPolicy has the permissions that it needs. Check and CheckOwner report this for now,
	// Known for the latest request, and Allowed for the latest response of the API server. Preferred is the version of the rule's
	// kind that the API server prefers.
	Permissions interface {
		Check(ctx context.Context, rule *policy.Rule) (since time.Time, err error)
		CheckOwner(ctx context.Context, rule *policy.Rule, kind schema.GroupVersionKind) (since time.Time, err error)
		Known(rule *policy.Rule) (err error, known bool)
		Allowed(rule *policy.Rule) bool
		Preferred(rule *policy.Rule) schema.GroupVersionKind
	}
	// Subscribers receive every new snapshot, in this order and one at a time.
	Subscribers []func(CompiledSnapshot)
	// OnStandby makes a Reconciler for a replica that does not lead: its snapshots say which facts to collect, and nothing may be
	// deleted by them. Standby is the one to end before the first snapshot; nil for none.
	OnStandby bool
	Standby   *Reconciler

	failed     chan error                          // an error that only a restart fixes
	ended      atomic.Bool                         // no more snapshots are published
	mu         lockorder.Mutex[lockorder.Policies] // held briefly; guards the fields that follow
	cachesRead bool                                // the caches were read once
	complete   bool                                // and all of their content is in force
	changes    changes
	compiling  compiling
	cluster    store[*entry] // the ClusterRetentionPolicies
	namespaced store[*entry] // the RetentionPolicies
	namespaces store[policy.Namespace]

	clusterApprovals, namespacedApprovals approvals

	quotas   quotas
	snapshot *policy.Snapshot                             // as last published
	statuses map[types.UID]v1alpha1.RetentionPolicyStatus // as a live read returned them before complete was set
	skewed   error                                        // result of the latest clock comparison
	failing
	confirmed time.Time // when a live read last looked for objects that a cache lacks

	publishing lockorder.Mutex[lockorder.Publishing] // held while a snapshot is made, before mu; guards what follows, and entry.previews
	scoped     map[types.UID]*policy.Policy          // of the snapshot as last published
	programs   map[string]*engine.Program            // of that snapshot
	past       []past                                // oldest first
	marking    map[string]trust                      // by policy.Rule.Mark

	references        []references.Declared // of policies as last published
	referencesSince   time.Time
	invalidReferences []references.InvalidReference

	live freshness // has its own locks
}

// entry is one policy: compiled, or as written until it is compiled.
type entry struct {
	generation int64
	approved   sets.Set[string] // the hashes that its approvals name
	deleting   bool             // the policy is being deleted
	policy     *policy.Policy
	programs   map[string]*engine.Program
	size       int                        // of its expressions
	refused    *unstructured.Unstructured // as written, if its expressions do not fit in its namespace; nil otherwise
	previews   previews
	bound      *policy.Policy // as in the snapshot, unless it has a gate or marks there; nil until it is in one

	written    *unstructured.Unstructured // nil once compiled
	collection policyCollection           // that holds the policy
	length     int                        // approximate length of its spec as written
	before     *entry                     // its last compiled version, or that of an earlier policy of the same name; nil for none
}

// includes reports whether the entry has the version of an object, or a later one.
func (e *entry) includes(object metav1.Object) bool {
	return e.generation >= object.GetGeneration() && (e.deleting || object.GetDeletionTimestamp() == nil)
}

// entryOf returns an entry with the version of an object and its approvals. It is not compiled.
func entryOf(object metav1.Object, approved sets.Set[string]) *entry {
	return &entry{generation: object.GetGeneration(), approved: approved, deleting: object.GetDeletionTimestamp() != nil}
}

// Reconcile reads all policies and namespaces from the caches, and publishes a snapshot. It waits up to compileWait for edited
// policies to be compiled, and the first time until all are. A version from a live read stays if it is newer than the cache.
func (l *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if l.ended.Load() {
		return reconcile.Result{}, nil
	}
	l.Standby.endStandby()
	var policies, approvals [][]unstructured.Unstructured
	for _, collection := range l.collections() {
		for kind, into := range map[schema.GroupVersionKind]*[][]unstructured.Unstructured{collection.kind: &policies, collection.approvalKind: &approvals} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			if err := l.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return reconcile.Result{}, fmt.Errorf("list %s: %w", kind.Kind, err)
			}
			*into = append(*into, list.Items)
		}
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(namespaceKind)
	if err := l.Cache.List(ctx, namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list namespaces: %w", err)
	}
	if !l.Complete() {
		if err := l.readStatuses(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	all := l.take(policies, approvals, namespaces.Items)
	if err := l.awaitEdits(ctx); err != nil {
		return reconcile.Result{}, err
	}
	result, err := l.confirmCaches(ctx, all && !l.live.lacksAny())
	if left := l.approvalsExpireIn(); left > 0 && (result.RequeueAfter == 0 || left < result.RequeueAfter) {
		result.RequeueAfter = left
	}
	return result, err
}

// approvalsExpireIn returns the time until the next approval expires; 0 if none does.
func (l *Reconciler) approvalsExpireIn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Clock.Now()
	next := policy.Soonest(l.clusterApprovals.nextExpiration(now), l.namespacedApprovals.nextExpiration(now))
	if next.IsZero() {
		return 0
	}
	return next.Sub(now)
}

// awaitEdits publishes edits that were read together at the same time, if they are compiled within compileWait. The first time,
// it waits until all policies are compiled.
func (l *Reconciler) awaitEdits(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, compileWait)
	defer cancel()
	_ = l.awaitCompiled(soon, l.busy)
	l.settle()
	return l.awaitCompiled(ctx, l.incomplete)
}

// take merges the caches, of each collection and of namespaces, into the stores, and records changes. It reports whether the
// caches contain all known policies and namespaces, and no approval that has not taken effect or has expired since. An object
// that they lack stays until a live read confirms that it is gone, and an approval counts only after a live read.
func (l *Reconciler) take(policies, approvals [][]unstructured.Unstructured, namespaces []metav1.PartialObjectMetadata) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, now := true, l.Clock.Now()
	for i, collection := range l.collections() {
		all = collection.approvals.take(approvals[i]) && all
		uids := map[types.UID]bool{}
		for k := range policies[i] {
			object := &policies[i][k]
			if !collection.gone(object) {
				l.takePolicy(collection, object)
			}
			if known, ok := collection.get(object); ok && !known.approved.Equal(collection.approvals.of(object, now)) {
				all = false
			}
			uids[object.GetUID()] = true
		}
		all = all && collection.allIn(uids)
	}
	uids := map[types.UID]bool{}
	for i := range namespaces {
		if !l.namespaces.gone(&namespaces[i]) {
			l.takeNamespace(&namespaces[i])
		}
		uids[namespaces[i].UID] = true
	}
	l.cachesRead = true
	return all && l.namespaces.allIn(uids)
}

// takePolicy stores a policy if it is new or was edited.
func (l *Reconciler) takePolicy(on policyCollection, object *unstructured.Unstructured) {
	on.noteVersion(object.GetResourceVersion())
	if known, ok := on.get(object); (!ok || !known.includes(object)) && on.accept(object) {
		l.edit(on, object)
	}
}

func (l *Reconciler) takeNamespace(object metav1.Object) {
	l.namespaces.noteVersion(object.GetResourceVersion())
	known, ok := l.namespaces.get(object)
	if !l.namespaces.accept(object) {
		return
	}
	namespace := policy.NamespaceOf(object.GetLabels(), object.GetAnnotations())
	l.namespaces.put(object, namespace)
	if !ok || !known.Equal(namespace) {
		l.changes.in(object.GetName())
	}
}

// compile parses and compiles an edited policy. Other policies of its namespace use taken of the maximum size.
func (l *Reconciler) compile(ctx context.Context, edited *entry, taken int) *entry {
	object := edited.written
	e := entryOf(object, edited.approved)
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
	e.policy.Approved = e.approved
	if e.deleting {
		e.policy.Terminate()
	}
	if l.DryRun {
		e.policy.ForceDryRun()
	}
	room := engine.RoomFor(e.policy) - taken
	if e.programs, e.size = l.Compiler.LoadWithin(e.policy, room); e.size > room {
		e.refused = object
	}
	const logged = 5 // problems
	log.FromContext(ctx).Info("policy read", "policy", e.policy.Name, "mode", e.policy.Mode,
		"generation", e.generation, "problems", policy.Shortlist(policy.Lines(e.policy.Problems), logged, ""))
	return e
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/node"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// rules keeps what the node is told. It implements retention.Fence.
type rules struct {
	live     client.Reader // past every cache
	clock    clock.PassiveClock
	compiler *engine.Compiler
	labels   func() (map[string]string, bool)
	// bound gives policies as much room as the filesystem leaves.
	bound func([]*policy.Policy) []*policy.Policy
	// publish puts rules in force.
	publish func(*policy.Book, map[string]*engine.Rule)

	mu        sync.Mutex // held during a read, so that one read serves all who wait
	told      node.Told
	programs  map[string]*engine.Rule
	version   string // resourceVersion of what was told; empty for nothing
	read      bool   // something was read, be it that there is nothing
	confirmed time.Time
	doubt     error // why what was told does not count; nil when it does
	book      *policy.Book
}

const (
	// rulesAge is how old what a removal rests on may be.
	rulesAge = 10 * time.Second
	// rulesTimeout bounds a read.
	rulesTimeout = 10 * time.Second
)

var errNoRules = errors.New("rules have not been read yet")

// Check implements retention.Fence. It reads the rules, and whether they are those of the policies by now, if that was last
// done more than ten seconds ago.
func (r *rules) Check(ctx context.Context, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := r.clock.Now().Sub(r.confirmed)
	if !r.confirmed.IsZero() && age >= 0 && age < rulesAge {
		return r.doubt
	}
	return r.confirm(ctx)
}

// Permit implements retention.Fence. Rules about images act with the rights of the agent.
func (r *rules) Permit(context.Context, *policy.Rule) error { return nil }

// PermitOwner implements retention.Fence. Images have no owners.
func (r *rules) PermitOwner(context.Context, *policy.Rule, *policy.Owner) error { return nil }

// confirm reads the rules and compares them with the policies. The caller holds mu.
func (r *rules) confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	err := r.live.Get(ctx, client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, object)
	switch {
	case apierrors.IsNotFound(err):
		object = nil
	case err != nil:
		return fmt.Errorf("read rules: %w", err)
	}
	if err := r.take(ctx, object); err != nil {
		return err
	}
	if object == nil {
		r.confirmed, r.doubt = r.clock.Now(), nil
		return nil
	}
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRetentionPolicyList"))
	if err := r.live.List(ctx, policies); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	r.confirmed, r.doubt = r.clock.Now(), r.told.Compare(policies.Items)
	return r.doubt
}

// Use takes rules that a watch has brought; nil when there are none.
func (r *rules) Use(ctx context.Context, object *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.take(ctx, object); err != nil {
		log.FromContext(ctx).Error(err, "rules not understood: nothing is removed")
	}
}

// take reads rules and puts them in force. What cannot be read leaves those before in force, and in doubt.
func (r *rules) take(ctx context.Context, object *unstructured.Unstructured) error {
	version := ""
	if object != nil {
		version = object.GetResourceVersion()
	}
	if r.read && version == r.version {
		return r.doubt
	}
	told := node.Told{}
	if object != nil {
		data, err := object.MarshalJSON()
		if err == nil {
			told, err = node.Read(data)
		}
		if err != nil {
			r.doubt, r.confirmed = err, time.Time{}
			return err
		}
	}
	r.programs = map[string]*engine.Rule{}
	for _, p := range told.Policies {
		maps.Copy(r.programs, r.compiler.Load(p))
	}
	r.told, r.version, r.read, r.doubt, r.confirmed = told, version, true, nil, time.Time{}
	log.FromContext(ctx).Info("rules read", "policies", len(told.Policies), "resourceVersion", version)
	r.enforce()
	return nil
}

// Again puts the rules in force anew: the labels of the node have changed, or the room that the filesystem leaves.
func (r *rules) Again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read {
		r.enforce()
	}
}

// enforce puts the rules for this node in force. The caller holds mu.
func (r *rules) enforce() {
	labels, known := r.labels()
	if !known {
		return
	}
	r.book = policy.NewBook(r.bound(r.told.On(labels)), nil, policy.Protection{})
	r.publish(r.book, r.programs)
}

// Book is what is in force; nil while nothing is.
func (r *rules) Book() *policy.Book {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book
}

// Doubt is why what was told does not count; nil when it does.
func (r *rules) Doubt() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		return errNoRules
	}
	return r.doubt
}

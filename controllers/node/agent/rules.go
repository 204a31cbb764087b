// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// rules holds the rules that the node has received. It implements preflight.Live.
type rules struct {
	live     client.Reader // bypasses every cache
	clocks   *skew.Clocks  // what the responses to live show
	clock    clock.PassiveClock
	compiler *engine.Compiler
	off      []policy.Feature // disabled features; rules that use one keep their images
	labels   func() (map[string]string, bool)
	// node reads the node from the API server, and reports whether its labels have changed; may be nil.
	node func(context.Context) (relabelled bool, err error)
	// bound limits policies to as many images as the filesystem has room for.
	bound func([]*policy.Policy) []*policy.Policy
	// publish puts rules in force.
	publish func(*policy.Snapshot, map[string]*engine.Program)

	mu          sync.Mutex // held during a read, so that all waiting callers share it
	received    agentapi.Received
	programs    map[string]*engine.Program
	version     metav1.ObjectMeta // UID and resourceVersion of the received rules; empty without any
	read        atomic.Bool       // the rules were read, or found not to exist; true forever then
	confirmedAt time.Time         // when the rules were last read from the API server
	unread      error             // error of decoding the rules that were received last
	confirmErr  error             // why the received rules must not remove images; nil if they may
	snapshot    *policy.Snapshot
}

const (
	// unconfirmedAge is the minimum time between two reads while the rules are not confirmed: there may be thousands of nodes.
	unconfirmedAge = 5 * time.Second
	// settleAge is that time while no removal waits for the rules.
	settleAge = time.Minute
	// absentAge is that time after the API server answered that no rules exist. If they do exist and do not change, a watch has
	// no event for them.
	absentAge = 10 * time.Minute
	// rulesTimeout bounds a read: its answer may be that old.
	rulesTimeout = 3 * time.Second
)

var (
	errNoRules = errors.New("the agent has not read NodeImageRules yet")
	errRewound = errors.New("the resourceVersions of the API server went back, for example after a restore of etcd; the agent reads the rules again")
)

// Check implements preflight.Live. It reads the rules and compares them with the current policies, unless it has done so within
// the last second. After a failure it retries after unconfirmedAge.
func (r *rules) Check(ctx context.Context, _ string) (since time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	age := now.Sub(r.confirmedAt)
	doubted := r.confirmErr != nil && !r.confirmedAt.IsZero() && age >= 0 && age < unconfirmedAge
	if !doubted && !preflight.Fresh(now, r.confirmedAt) {
		r.confirmedAt, r.confirmErr = r.confirm(ctx)
	}
	return r.confirmedAt, r.confirmErr
}

// Settle reads the rules again while no removal does: if they were never read, if they have not been confirmed for a while, or
// if there were none.
func (r *rules) Settle(ctx context.Context) {
	r.mu.Lock()
	age := r.clock.Now().Sub(r.confirmedAt)
	isOld := func(limit time.Duration) bool { return age < 0 || age >= limit }
	wait := r.confirmedAt.IsZero() && !r.read.Load() || r.confirmErr != nil && isOld(settleAge) ||
		!r.confirmedAt.IsZero() && r.version.ResourceVersion == "" && isOld(absentAge)
	r.mu.Unlock()
	if wait {
		_, _ = r.Check(ctx, "") // ConfirmError returns the error
	}
}

// Prefetch implements preflight.Live. It does nothing, because the rules are one object that takes one short request.
func (r *rules) Prefetch(context.Context, string, time.Time) {}

// Permit implements preflight.Live. Rules about images use the permissions of the agent.
func (r *rules) Permit(context.Context, *policy.Rule) (time.Time, error) { return r.clock.Now(), nil }

// PermitOwner implements preflight.Live. Images have no owners.
func (r *rules) PermitOwner(context.Context, *policy.Rule, *policy.Owner) (time.Time, error) {
	return r.clock.Now(), nil
}

// confirm reads the rules and compares them with the policies, and the clocks. It returns the time of the first answer. The caller
// holds mu.
func (r *rules) confirm(ctx context.Context) (since time.Time, err error) {
	r.clocks.Begin(func(at time.Time) bool { return preflight.Fresh(r.clock.Now(), at) })
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	err = r.live.Get(ctx, client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, object)
	since = r.clock.Now()
	switch {
	case apierrors.IsNotFound(err):
		object = nil
	case err != nil:
		return since, fmt.Errorf("read NodeImageRules: %w", err)
	}
	rewound := object != nil && isOlder(object, &r.version) // no watch event can be newer than this answer, which came later
	if rewound {
		r.version = metav1.ObjectMeta{}
	}
	if err := r.take(ctx, object); err != nil {
		return since, err
	}
	if rewound {
		return since, errRewound
	}
	if len(r.received.Policies) == 0 { // then the controller does not write changes of other policies
		return since, nil
	}
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRetentionPolicyList"))
	if err := r.live.List(ctx, policies); err != nil {
		return since, fmt.Errorf("list ClusterRetentionPolicies: %w", err)
	}
	if r.node != nil {
		relabelled, err := r.node(ctx)
		if err != nil {
			return since, err
		}
		if relabelled {
			r.enforce()
		}
	}
	if err := r.received.Compare(policies.Items); err != nil {
		return since, err
	}
	return since, r.clocks.Err()
}

// Use takes the rules that a watch has delivered; nil if there are none.
func (r *rules) Use(ctx context.Context, object *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.take(ctx, object); err != nil {
		log.FromContext(ctx).Error(err, "invalid NodeImageRules: the agent removes no images")
	}
}

// take decodes rules and puts them in force. If it cannot decode them the previous rules stay in force, but may not remove
// images.
func (r *rules) take(ctx context.Context, object *unstructured.Unstructured) error {
	version := metav1.ObjectMeta{}
	if object != nil {
		version.UID, version.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	}
	if r.read.Load() && (version.ResourceVersion == r.version.ResourceVersion || isOlder(&version, &r.version)) {
		return r.unread
	}
	received := agentapi.Received{}
	r.unread, r.confirmedAt = nil, time.Time{}
	if object != nil {
		data, err := object.MarshalJSON()
		if err == nil {
			received, err = agentapi.Read(data, r.off...)
		}
		if r.unread = err; err != nil {
			r.version, r.confirmErr = version, err
			return err
		}
	}
	r.programs = map[string]*engine.Program{}
	for _, p := range received.Policies {
		maps.Copy(r.programs, r.compiler.Load(p))
	}
	r.received, r.version, r.confirmErr = received, version, nil
	r.read.Store(true)
	log.FromContext(ctx).Info("NodeImageRules read", "policies", len(received.Policies), "resourceVersion", version.ResourceVersion)
	r.enforce()
	return nil
}

// Republish puts the rules in force again, after the labels of the node or the room on the filesystem have changed.
func (r *rules) Republish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.Load() {
		r.enforce()
	}
}

// enforce puts the rules for this node in force. The caller holds mu.
func (r *rules) enforce() {
	labels, known := r.labels()
	if !known {
		return
	}
	r.snapshot = policy.NewSnapshot(r.bound(r.received.On(labels)), nil, policy.Protection{})
	r.publish(r.snapshot, r.programs)
}

// Snapshot returns the snapshot in force; nil if there is none.
func (r *rules) Snapshot() *policy.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot
}

// IsRead reports whether the rules have been read, even if there are none. It does not wait for a read.
func (r *rules) IsRead() bool { return r.read.Load() }

// ReadSpace reports whether a rule in force reads the usage of the image filesystem.
func (r *rules) ReadSpace() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil {
		return false
	}
	return slices.ContainsFunc(r.snapshot.Rules(v1alpha1.ImageKind.GroupKind()), func(rule *policy.Rule) bool {
		program := r.programs[rule.Key]
		return rule.Images.HasThresholds || program != nil && slices.ContainsFunc(program.NodeReads(), readsSpace)
	})
}

// readsSpace reports whether a path of the variable node is the filesystem or the whole node.
func readsSpace(path string) bool {
	field, _, _ := strings.Cut(path, ".")
	return field == "*" || field == "imageFs"
}

// Knows reports whether a policy may exist: false only if the rules are confirmed and do not list it.
func (r *rules) Knows(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmErr != nil || r.received.Knows(uid)
}

// ConfirmError returns why the received rules must not remove images; nil if they may.
func (r *rules) ConfirmError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmErr == nil && !r.read.Load() {
		return errNoRules
	}
	return r.confirmErr
}

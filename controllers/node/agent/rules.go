package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// rules keeps what the node is told. It implements preflight.Live.
type rules struct {
	live     client.Reader // past every cache
	clock    clock.PassiveClock
	compiler *engine.Compiler
	off      []policy.Feature // the rules that need one keep
	labels   func() (map[string]string, bool)
	// node reads the node live, and reports whether its labels differ; nil where nobody asks.
	node func(context.Context) (relabelled bool, err error)
	// bound gives policies as much room as the filesystem leaves.
	bound func([]*policy.Policy) []*policy.Policy
	// publish puts rules in force.
	publish func(*policy.Snapshot, map[string]*engine.Program)

	mu       sync.Mutex // held during a read, so that one read serves all who wait
	told     agentapi.Received
	programs map[string]*engine.Program
	version  string // resourceVersion of what was told; empty for nothing
	uid      types.UID
	read     bool      // something was read, be it that there is nothing
	asked    time.Time // when the API server was last asked
	unread   error     // why what was told last cannot be understood
	doubt    error     // why what was told does not count; nil when it does
	snapshot *policy.Snapshot
}

const (
	// doubtAge is how soon what is in doubt is asked about again: there may be thousands of nodes.
	doubtAge = 5 * time.Second
	// settleAge is how soon where nothing waits for it.
	settleAge = time.Minute
	// absentAge is how soon the API server is asked again whether there are no rules: no watch tells of rules that stay.
	absentAge = 10 * time.Minute
	// rulesTimeout bounds a read: what it answers may have been so for as long.
	rulesTimeout = 3 * time.Second
)

var errNoRules = errors.New("rules have not been read yet")

// Check implements preflight.Live. It reads the rules, and whether they are those of the policies by now, if that was last
// done more than a second ago. What was in doubt is asked about again later than that.
func (r *rules) Check(ctx context.Context, _ string) (since time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	age := now.Sub(r.asked)
	doubted := r.doubt != nil && !r.asked.IsZero() && age >= 0 && age < doubtAge
	if !doubted && !preflight.Fresh(now, r.asked) {
		r.asked, r.doubt = r.confirm(ctx)
	}
	return r.asked, r.doubt
}

// Settle asks again, where nothing is due that would, once what was told has been in doubt for a while, or not read yet.
func (r *rules) Settle(ctx context.Context) {
	r.mu.Lock()
	age := r.clock.Now().Sub(r.asked)
	isOld := func(limit time.Duration) bool { return age < 0 || age >= limit }
	wait := r.asked.IsZero() && !r.read || r.doubt != nil && isOld(settleAge) ||
		!r.asked.IsZero() && r.version == "" && isOld(absentAge)
	r.mu.Unlock()
	if wait {
		_, _ = r.Check(ctx, "") // told by Doubt
	}
}

// Prefetch implements preflight.Live. The rules are one object, which is read quickly.
func (r *rules) Prefetch(context.Context, string, time.Time) {}

// Permit implements preflight.Live. Rules about images act with the rights of the agent.
func (r *rules) Permit(context.Context, *policy.Rule) (time.Time, error) { return r.clock.Now(), nil }

// PermitOwner implements preflight.Live. Images have no owners.
func (r *rules) PermitOwner(context.Context, *policy.Rule, *policy.Owner) (time.Time, error) {
	return r.clock.Now(), nil
}

// confirm reads the rules and compares them with the policies. It says when the first answer came. The caller holds mu.
func (r *rules) confirm(ctx context.Context) (since time.Time, err error) {
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
		return since, fmt.Errorf("read rules: %w", err)
	}
	if err := r.take(ctx, object); err != nil {
		return since, err
	}
	if object == nil {
		return since, nil
	}
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRetentionPolicyList"))
	if err := r.live.List(ctx, policies); err != nil {
		return since, fmt.Errorf("read policies: %w", err)
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
	return since, r.told.Compare(policies.Items)
}

// Use takes rules that a watch has brought; nil when there are none.
func (r *rules) Use(ctx context.Context, object *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.take(ctx, object); err != nil {
		log.FromContext(ctx).Error(err, "NodeImageRules not understood: the agent removes no images")
	}
}

// take reads rules and puts them in force. What cannot be read leaves those before in force, and in doubt.
func (r *rules) take(ctx context.Context, object *unstructured.Unstructured) error {
	version := ""
	if object != nil {
		version = object.GetResourceVersion()
	}
	if r.read && (version == r.version || r.isOlder(object)) {
		return r.unread
	}
	told := agentapi.Received{}
	r.unread, r.asked = nil, time.Time{}
	if object != nil {
		data, err := object.MarshalJSON()
		if err == nil {
			told, err = agentapi.Read(data, r.off...)
		}
		if r.unread = err; err != nil {
			r.version, r.doubt = version, err
			return err
		}
	}
	r.programs = map[string]*engine.Program{}
	for _, p := range told.Policies {
		maps.Copy(r.programs, r.compiler.Load(p))
	}
	r.told, r.version, r.uid, r.read, r.doubt = told, version, uidOf(object), true, nil
	log.FromContext(ctx).Info("rules read", "policies", len(told.Policies), "resourceVersion", version)
	r.enforce()
	return nil
}

// isOlder reports whether an object is an earlier form of what was read: a watch may lag behind.
func (r *rules) isOlder(object *unstructured.Unstructured) bool {
	if object == nil || r.version == "" || object.GetUID() != r.uid {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), r.version)
	return err == nil && order < 0
}

func uidOf(object *unstructured.Unstructured) types.UID {
	if object == nil {
		return ""
	}
	return object.GetUID()
}

// Again puts the rules in force again: the labels of the node have changed, or the room that the filesystem leaves.
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
	r.snapshot = policy.NewSnapshot(r.bound(r.told.On(labels)), nil, policy.Protection{})
	r.publish(r.snapshot, r.programs)
}

// Snapshot is what is in force; nil while nothing is.
func (r *rules) Book() *policy.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot
}

// Told reports whether it is known what the node is told, be it nothing.
func (r *rules) Told() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// ReadSpace reports whether a rule in force asks how full the filesystem of the images is.
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

// readsSpace reports whether a path of the variable node is the filesystem, or the node as a whole.
func readsSpace(path string) bool {
	field, _, _ := strings.Cut(path, ".")
	return field == "*" || field == "imageFs"
}

// Knows reports whether a policy may exist: not if those that the node was told of lack it.
func (r *rules) Knows(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubt != nil || r.told.Knows(uid)
}

// Doubt is why what was told does not count; nil when it does.
func (r *rules) Doubt() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doubt == nil && !r.read {
		return errNoRules
	}
	return r.doubt
}

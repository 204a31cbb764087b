package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	writeEvery     = time.Second      // minimum time between two writes
	lookEvery      = 5 * time.Minute  // maximum time between two reads
	tryAgain       = 2 * time.Second  // delay after a failed request
	requestTimeout = 10 * time.Second // of one request
)

// RulePublisher writes the only NodeImageRules object, which the agents on nodes follow. Create it with NewRulePublisher.
type RulePublisher struct {
	Options
	wake chan struct{}

	mu       sync.Mutex
	snapshot *policy.Snapshot
	missing  sets.Set[types.UID]
	trouble  error

	sent, stored []byte // the last written content, and the content that the API server stored for it
}

// Options are the dependencies of RulePublisher and ReportCollector.
type Options struct {
	Client client.WithWatch // bypasses every cache
	Clock  clock.Clock
	// Leadership reports whether this process may write: Check returns nil while it may.
	Leadership interface{ Check() error }
	// Changed is called after a change that the status of policies shows.
	Changed func()
}

// NewRulePublisher returns a RulePublisher without policies.
func NewRulePublisher(o Options) *RulePublisher {
	return &RulePublisher{Options: o, wake: make(chan struct{}, 1)}
}

// Use sets the policies to publish.
func (b *RulePublisher) Use(snapshot *policy.Snapshot) {
	b.mu.Lock()
	b.snapshot = snapshot
	b.mu.Unlock()
	b.nudge()
}

// nudge makes the publisher compare the object with the policies. It never blocks.
func (b *RulePublisher) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Missing reports whether the rules of a policy do not fit into the object. Agents then delete nothing by the policy and,
// unless it is a dry run, keep every image.
func (b *RulePublisher) Missing(policy types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing.Has(policy)
}

// Unwritten returns why agents do not receive the current rules; nil if they do.
func (b *RulePublisher) Unwritten() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader writes.
func (b *RulePublisher) NeedLeaderElection() bool { return true }

// Start keeps the object equal to the policies until ctx ends.
func (b *RulePublisher) Start(ctx context.Context) error {
	watching := sync.WaitGroup{}
	defer watching.Wait()
	watched := false
	for next := lookEvery; b.pause(ctx, next, b.wake); b.pause(ctx, writeEvery, nil) {
		next = lookEvery
		wanted, err := b.keep(ctx)
		if err != nil {
			next = tryAgain
		}
		if wanted && !watched {
			watched = true
			watching.Go(func() { b.watch(ctx) })
		}
	}
	return nil
}

// pause waits for the given time, or for a nudge. It returns false if ctx has ended.
func (b *RulePublisher) pause(ctx context.Context, most time.Duration, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-b.Clock.After(most):
	}
	return true
}

// watch calls nudge whenever a client changes the object, until ctx ends.
func (b *RulePublisher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.watchOnce(ctx)
		if err != nil {
			log.FromContext(ctx).V(1).Info("watch of NodeImageRules failed", "err", err.Error())
		}
		b.nudge()
		b.pause(ctx, tryAgain, nil)
	}
}

func (b *RulePublisher) watchOnce(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	events, err := b.Client.Watch(ctx, list, client.MatchingFields{metav1.ObjectNameField: v1alpha1.NodeImageRulesName})
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-events.ResultChan():
			if !open {
				return nil
			}
			b.nudge()
		}
	}
}

// keep makes the object equal to the policies. It reports whether there are rules about images.
func (b *RulePublisher) keep(ctx context.Context) (wanted bool, err error) {
	b.mu.Lock()
	snapshot := b.snapshot
	b.mu.Unlock()
	if snapshot == nil {
		return false, nil
	}
	rendered := agentapi.Render(snapshot, agentapi.MaxBytes)
	err = b.write(ctx, rendered)
	if err != nil && ctx.Err() != nil {
		return false, nil // an error during shutdown is not reported
	}
	b.note(ctx, rendered.Missing, err)
	return len(rendered.Policies) > 0, err
}

// note stores the result for the status of policies.
func (b *RulePublisher) note(ctx context.Context, missing sets.Set[types.UID], trouble error) {
	b.mu.Lock()
	changed := !missing.Equal(b.missing) || fmt.Sprint(trouble) != fmt.Sprint(b.trouble)
	b.missing, b.trouble = missing, trouble
	b.mu.Unlock()
	if !changed {
		return
	}
	b.Changed()
	if trouble != nil {
		log.FromContext(ctx).Error(trouble, "NodeImageRules not written: node agents do not receive changed rules")
	}
}

// write creates or updates the object to match r. Without rules about images the object need not exist.
func (b *RulePublisher) write(ctx context.Context, r agentapi.Rendered) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wanted, err := contentOf(&v1alpha1.NodeImageRules{Policies: r.Policies, Known: r.Known})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	err = b.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.NodeImageRulesName}, object)
	switch {
	case len(r.Policies) == 0 && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err)):
		return nil // the kind and the permission need not exist either
	case apierrors.IsNotFound(err):
		object = &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
		object.SetName(v1alpha1.NodeImageRulesName)
		return b.put(wanted, object, func() error { return b.Client.Create(ctx, object) })
	case err != nil:
		return fmt.Errorf("read NodeImageRules: %w", err)
	case b.says(object, wanted):
		return nil
	default:
		return b.put(wanted, object, func() error { return b.Client.Update(ctx, object) }) // with the resourceVersion that was read
	}
}

// put replaces the content of the object.
func (b *RulePublisher) put(wanted map[string]any, object *unstructured.Unstructured, write func() error) error {
	if err := b.Leadership.Check(); err != nil {
		return err
	}
	for key := range content(object) {
		delete(object.Object, key)
	}
	for key, value := range wanted {
		object.Object[key] = value
	}
	if err := write(); err != nil {
		return fmt.Errorf("write NodeImageRules: %w", err)
	}
	b.sent, b.stored = textOf(wanted), textOf(content(object))
	return nil
}

// says reports whether the object has the wanted content, or the content that the API server stored when that was written,
// perhaps with a default added.
func (b *RulePublisher) says(object *unstructured.Unstructured, wanted map[string]any) bool {
	is, should := textOf(content(object)), textOf(wanted)
	return bytes.Equal(is, should) || bytes.Equal(should, b.sent) && bytes.Equal(is, b.stored)
}

// contentOf returns the content of rules as unstructured objects hold it.
func contentOf(r *v1alpha1.NodeImageRules) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return nil, err
	}
	return content(&unstructured.Unstructured{Object: fields}), nil
}

// content returns all fields of an object except apiVersion, kind and metadata.
func content(object *unstructured.Unstructured) map[string]any {
	fields := map[string]any{}
	for key, value := range object.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			fields[key] = value
		}
	}
	return fields
}

// textOf encodes fields; equal fields have equal encodings.
func textOf(fields map[string]any) []byte {
	text, _ := json.Marshal(fields) // the fields come from JSON
	return text
}

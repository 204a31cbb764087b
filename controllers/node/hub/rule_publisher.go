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
	writeEvery     = time.Second      // at least, between two writes
	lookEvery      = 5 * time.Minute  // whatever the watch says
	tryAgain       = 2 * time.Second  // after a request failed
	requestTimeout = 10 * time.Second // of one request
)

// RulePublisher keeps the one NodeImageRules: what the agents on nodes obey. Create it with NewBoard.
type RulePublisher struct {
	Options
	wake chan struct{}

	mu       sync.Mutex
	snapshot *policy.Snapshot
	missing  sets.Set[types.UID]
	trouble  error

	sent, stored []byte // what was written last, and what the API server made of it
}

// Options is what Board and ReportCollector are made of.
type Options struct {
	Client client.WithWatch // reads past every cache
	Clock  clock.Clock
	// Leadership says whether this process may write; Check gives nil while it may.
	Leadership interface{ Check() error }
	// Changed is called when something has changed that status tells.
	Changed func()
}

// NewRulePublisher makes a Board that knows no rules.
func NewRulePublisher(o Options) *RulePublisher {
	return &RulePublisher{Options: o, wake: make(chan struct{}, 1)}
}

// Use takes the policies to tell of.
func (b *RulePublisher) Use(snapshot *policy.Snapshot) {
	b.mu.Lock()
	b.snapshot = snapshot
	b.mu.Unlock()
	b.nudge()
}

// nudge makes the board look again. It never blocks.
func (b *RulePublisher) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Missing reports whether the rules of a policy do not fit, so that agents keep every image its mode lets them.
func (b *RulePublisher) Missing(policy types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing.Has(policy)
}

// Unwritten is why agents are not told what the policies say; nil when they are.
func (b *RulePublisher) Unwritten() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble
}

// NeedLeaderElection says that only the leader writes.
func (b *RulePublisher) NeedLeaderElection() bool { return true }

// Start keeps the object as it should be until ctx ends.
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

// pause waits for a while, or for a nudge; false when ctx has ended.
func (b *RulePublisher) pause(ctx context.Context, most time.Duration, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-b.Clock.After(most):
	}
	return true
}

// watch nudges whenever somebody changes the object, until ctx ends.
func (b *RulePublisher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.watchOnce(ctx)
		if err != nil {
			log.FromContext(ctx).V(1).Info("rules about images are not watched", "err", err.Error())
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

// keep makes the object say what the policies say. It reports whether there are rules about images.
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
		return false, nil // whoever stops tells no trouble
	}
	b.note(ctx, rendered.Missing, err)
	return len(rendered.Policies) > 0, err
}

// note keeps what status tells.
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

// write brings the object to what is rendered. Without rules about images there need not be one.
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
		return nil // nor need the kind be there, or the right, where nobody uses it
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
		return b.put(wanted, object, func() error { return b.Client.Update(ctx, object) }) // at the version that was read
	}
}

// put writes what is wanted, in place of all that the object said.
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

// says reports whether the object says what is wanted, or what the API server made of it when it was written: a default
// more, perhaps.
func (b *RulePublisher) says(object *unstructured.Unstructured, wanted map[string]any) bool {
	is, should := textOf(content(object)), textOf(wanted)
	return bytes.Equal(is, should) || bytes.Equal(should, b.sent) && bytes.Equal(is, b.stored)
}

// contentOf is what rules say, as unstructured objects hold it.
func contentOf(r *v1alpha1.NodeImageRules) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return nil, err
	}
	return content(&unstructured.Unstructured{Object: fields}), nil
}

// content is all fields of an object but those that any object has.
func content(object *unstructured.Unstructured) map[string]any {
	fields := map[string]any{}
	for key, value := range object.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			fields[key] = value
		}
	}
	return fields
}

// textOf writes fields so that equal ones are equal texts.
func textOf(fields map[string]any) []byte {
	text, _ := json.Marshal(fields) // what is here came from JSON
	return text
}

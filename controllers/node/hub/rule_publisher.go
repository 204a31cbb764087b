// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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

	"github.com/sunset-k8s/sunset/controllers/process/wake"
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

// RulePublisher writes the only NodeImageRules object, which the agents on nodes follow. It has no policies before Use.
type RulePublisher struct {
	Options
	wake wake.Signal // compare the object with the policies

	mu       sync.Mutex
	snapshot *policy.Snapshot
	missing  sets.Set[types.UID]
	writeErr error

	sent, stored map[string]any // the last written content, and the content that the API server stored for it
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

// Use sets the policies to publish.
func (p *RulePublisher) Use(snapshot *policy.Snapshot) {
	p.mu.Lock()
	p.snapshot = snapshot
	p.mu.Unlock()
	p.wake.Send()
}

// Missing reports whether the rules of a policy do not fit into the object. Agents then delete nothing by the policy and,
// unless it is a dry run, keep every image.
func (p *RulePublisher) Missing(policy types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missing.Has(policy)
}

// Unwritten returns why agents do not receive the current rules; nil if they do.
func (p *RulePublisher) Unwritten() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writeErr
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader writes.
func (p *RulePublisher) NeedLeaderElection() bool { return true }

// Start keeps the object equal to the policies until ctx ends.
func (p *RulePublisher) Start(ctx context.Context) error {
	watching := sync.WaitGroup{}
	defer watching.Wait()
	watched := false
	for next := lookEvery; p.wake.Wait(ctx, p.Clock, next); wake.Sleep(ctx, p.Clock, writeEvery) {
		next = lookEvery
		wanted, err := p.keep(ctx)
		if err != nil {
			next = tryAgain
		}
		if wanted && !watched {
			watched = true
			watching.Go(func() { p.watch(ctx) })
		}
	}
	return nil
}

// watch wakes the publisher whenever a client changes the object, until ctx ends.
func (p *RulePublisher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.watchOnce(ctx)
		if err != nil {
			log.FromContext(ctx).V(1).Info("watch of NodeImageRules failed", "err", err.Error())
		}
		p.wake.Send()
		wake.Sleep(ctx, p.Clock, tryAgain)
	}
}

func (p *RulePublisher) watchOnce(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	events, err := p.Client.Watch(ctx, list, client.MatchingFields{metav1.ObjectNameField: v1alpha1.NodeImageRulesName})
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
			p.wake.Send()
		}
	}
}

// keep makes the object equal to the policies. It reports whether there are rules about images.
func (p *RulePublisher) keep(ctx context.Context) (wanted bool, err error) {
	p.mu.Lock()
	snapshot := p.snapshot
	p.mu.Unlock()
	if snapshot == nil {
		return false, nil
	}
	rendered := agentapi.Render(snapshot, agentapi.MaxBytes)
	err = p.write(ctx, rendered)
	if err != nil && ctx.Err() != nil {
		return false, nil // an error during shutdown is not reported
	}
	p.note(ctx, rendered.Missing, err)
	return len(rendered.Policies) > 0, err
}

// note stores the result for the status of policies.
func (p *RulePublisher) note(ctx context.Context, missing sets.Set[types.UID], err error) {
	p.mu.Lock()
	changed := !missing.Equal(p.missing) || fmt.Sprint(err) != fmt.Sprint(p.writeErr)
	p.missing, p.writeErr = missing, err
	p.mu.Unlock()
	if !changed {
		return
	}
	p.Changed()
	if err != nil {
		log.FromContext(ctx).Error(err, "NodeImageRules not written: node agents do not receive changed rules")
	}
}

// write creates or updates the object to match r. Without rules about images the object need not exist.
func (p *RulePublisher) write(ctx context.Context, r agentapi.Rendered) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wanted, err := contentOf(&v1alpha1.NodeImageRules{Policies: r.Policies, Known: r.Known})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	err = p.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.NodeImageRulesName}, object)
	switch {
	case len(r.Policies) == 0 && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err)):
		return nil // the kind and the permission need not exist either
	case apierrors.IsNotFound(err):
		object = &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
		object.SetName(v1alpha1.NodeImageRulesName)
		return p.put(wanted, object, func() error { return p.Client.Create(ctx, object) })
	case err != nil:
		return fmt.Errorf("read NodeImageRules: %w", err)
	case p.isUpToDate(object, wanted):
		return nil
	default:
		return p.put(wanted, object, func() error { return p.Client.Update(ctx, object) }) // with the resourceVersion that was read
	}
}

// put replaces the content of the object.
func (p *RulePublisher) put(wanted map[string]any, object *unstructured.Unstructured, write func() error) error {
	if err := p.Leadership.Check(); err != nil {
		return err
	}
	for key := range content(object) {
		delete(object.Object, key)
	}
	maps.Copy(object.Object, wanted)
	if err := write(); err != nil {
		return fmt.Errorf("write NodeImageRules: %w", err)
	}
	p.sent, p.stored = wanted, content(object)
	return nil
}

// isUpToDate reports whether the object has the wanted content, or the content that the API server stored when that was written,
// perhaps with a default added.
func (p *RulePublisher) isUpToDate(object *unstructured.Unstructured, wanted map[string]any) bool {
	is, equal := content(object), equality.Semantic.DeepEqual
	return equal(is, wanted) || equal(wanted, p.sent) && equal(is, p.stored)
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
	fields := maps.Clone(object.Object)
	maps.DeleteFunc(fields, func(key string, _ any) bool { return key == "apiVersion" || key == "kind" || key == "metadata" })
	return fields
}

// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sunset-k8s/sunset/controllers/node/hub"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// harness has a RulePublisher and a ReportCollector in a synctest bubble, with a fake API server.
type harness struct {
	t         *testing.T
	publisher *hub.RulePublisher
	collector *hub.ReportCollector
	server    client.WithWatch

	mu      sync.Mutex
	writes  []time.Time
	reads   int
	changed int
	fail    error // of every request for one object
	unread  error // of every list
	follows bool  // this process is not the leader
}

func inBubble(t *testing.T, test func(t *testing.T, w *harness)) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		expect.NoError(t, v1alpha1.AddToScheme(scheme))
		w := &harness{t: t}
		w.server = fake.NewClientBuilder().WithScheme(scheme).Build()
		o := hub.Options{Client: interceptor.NewClient(w.server, w.between()), Clock: clock.RealClock{}, Leadership: w, Changed: func() { w.set(func() { w.changed++ }) }}
		w.publisher, w.collector = &hub.RulePublisher{Options: o}, &hub.ReportCollector{Options: o}
		stopPublisher, stopCollector := bubble.Start(t, w.publisher.Start), bubble.Start(t, w.collector.Start)
		test(t, w)
		stopPublisher()
		stopCollector()
	})
}

// Check implements the leadership of Options.
func (w *harness) Check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follows {
		return errors.New("not the leader")
	}
	return nil
}

// between counts requests and makes them fail.
func (w *harness) between() interceptor.Funcs {
	note := func(write bool) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if write {
			w.writes = append(w.writes, time.Now())
		} else {
			w.reads++
		}
		return w.fail
	}
	return interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			if o := (&client.ListOptions{}).ApplyOptions(opts); o.Raw != nil && o.Raw.SendInitialEvents != nil {
				return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // the answer of older API servers, which the fake one should give
			}
			return c.Watch(ctx, list, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.mu.Lock()
			err := w.unread
			w.mu.Unlock()
			return errors.Join(err, c.List(ctx, list, opts...))
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return errors.Join(note(false), c.Get(ctx, key, o, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := note(true); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := note(true); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	}
}

func (w *harness) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *harness) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.writes)
}

// use puts policies in force.
func (w *harness) use(policies ...*policy.Policy) {
	snapshot := policy.NewSnapshot(policies, nil, policy.DefaultProtection())
	w.publisher.Use(snapshot)
	w.collector.Use(snapshot)
}

// rules returns the NodeImageRules; nil if there are none.
func (w *harness) rules() *v1alpha1.NodeImageRules {
	w.t.Helper()
	rules := &v1alpha1.NodeImageRules{}
	err := w.server.Get(w.t.Context(), client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, rules)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return rules
}

// about returns a policy of a generation with a rule about a kind.
func about(kind string, generation int64) *policy.Policy {
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: types.UID("uid-p"), Generation: generation}}
	target := v1alpha1.Target{APIVersion: "batch/v1", Kind: kind}
	if kind == "Image" {
		target.APIVersion = v1alpha1.ImageKind.GroupVersion().String()
	}
	d.Spec.Mode = v1alpha1.Enforce
	d.Spec.Rules = []v1alpha1.Rule{{Name: "old", Target: target, Eligible: "true", StartTime: "object.status.lastUsed", TTL: "30d"}}
	return d.Load(policy.DefaultProtection())
}

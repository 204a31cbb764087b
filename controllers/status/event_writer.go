// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	eventsWaiting = 200                   // maximum number of queued Events in one namespace
	eventsInAll   = 10 * eventsWaiting    // and in all namespaces
	eventsAtOnce  = 16                    // number of namespaces in which Events are written at the same time
	eventsPause   = 15 * time.Millisecond // between two Events, so that a burst does not delay deletions
	eventTimeout  = 5 * time.Second
	eventTries    = 3
	eventAgain    = 2 * time.Second
)

// EventWriter writes Events, one at a time in each namespace, so that others wait only if eventsAtOnce namespaces are slow. The
// recorder of client-go combines Events about the same object with the same reason, and drops the note of the later ones. EventWriter
// does not combine Events, and does not cache them: Events that wait when the process ends are lost. Create it with NewEventWriter.
type EventWriter struct {
	client client.Client
	clock  clock.WithTicker
	host   string
	turns  *workqueue.Typed[string] // the namespaces of waiting

	mu      sync.Mutex
	waiting map[string][]*eventsv1.Event // by namespace
	inAll   int                          // of waiting
}

// NewEventWriter returns an EventWriter with an empty queue.
func NewEventWriter(c client.Client, clock clock.WithTicker) *EventWriter {
	host, _ := os.Hostname()
	return &EventWriter{client: c, clock: clock, host: host, turns: workqueue.NewTyped[string](), waiting: map[string][]*eventsv1.Event{}}
}

// Queue implements Events.
func (s *EventWriter) Queue(e *eventsv1.Event) bool {
	now := s.clock.Now()
	if e.Namespace = e.Regarding.Namespace; e.Namespace == "" {
		e.Namespace = "default" // the namespace of Events about cluster-scoped objects
	}
	e.Name = util.GenerateEventName(e.Regarding.Name, now.UnixNano())
	e.EventTime.Time = now
	e.ReportingController, e.ReportingInstance = "sunset", "sunset-"+s.host
	s.mu.Lock()
	defer s.mu.Unlock()
	most := eventsWaiting
	if isAboutPolicy(e) { // there are few, and those of all ClusterRetentionPolicies are in one namespace
		most = eventsInAll
	}
	if len(s.waiting[e.Namespace]) >= most || s.inAll >= eventsInAll && !isAboutPolicy(e) {
		return false
	}
	s.waiting[e.Namespace] = append(s.waiting[e.Namespace], e)
	s.inAll++
	s.turns.Add(e.Namespace)
	return true
}

func isAboutPolicy(e *eventsv1.Event) bool {
	return e.Regarding.Kind == v1alpha1.ClusterRetentionPolicyKind.Kind || e.Regarding.Kind == v1alpha1.RetentionPolicyKind.Kind
}

// Start writes Events until ctx ends.
func (s *EventWriter) Start(ctx context.Context) error {
	context.AfterFunc(ctx, s.turns.ShutDown)
	var writers errgroup.Group
	writers.SetLimit(eventsAtOnce)
	for {
		namespace, ended := s.turns.Get()
		if ended || ctx.Err() != nil {
			return writers.Wait()
		}
		writers.Go(func() error {
			defer s.turns.Done(namespace)
			s.write(ctx, s.take(namespace))
			return nil
		})
		wake.Sleep(ctx, s.clock, eventsPause)
	}
}

// take takes the first Event of a namespace. The namespace gets another turn, after those of others, if it has more.
func (s *EventWriter) take(namespace string) *eventsv1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting[namespace]
	s.inAll--
	if s.waiting[namespace] = all[1:]; len(all) > 1 {
		s.turns.Add(namespace)
	} else {
		delete(s.waiting, namespace)
	}
	return all[0]
}

// NeedLeaderElection returns true: only the leader writes Events.
func (s *EventWriter) NeedLeaderElection() bool { return true }

// write sends an Event until the API server accepts it or returns an error that a retry cannot fix, at most eventTries times.
func (s *EventWriter) write(ctx context.Context, e *eventsv1.Event) {
	for try := 1; ; try++ {
		err := s.create(ctx, e)
		if err == nil {
			return
		}
		if try == eventTries || isFinal(err) {
			log.FromContext(ctx).V(1).Info("Event not written", "namespace", e.Namespace, "about", e.Regarding.Name, "err", err.Error())
			return
		}
		if wake.Sleep(ctx, s.clock, eventAgain); ctx.Err() != nil {
			return
		}
	}
}

func (s *EventWriter) create(ctx context.Context, e *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	return s.client.Create(ctx, e.DeepCopy())
}

// isFinal reports whether the API server refuses an Event, for example because the namespace is terminating or a permission is
// missing.
func isFinal(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonNotFound, metav1.StatusReasonBadRequest,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonUnauthorized:
		return true
	}
	return false
}

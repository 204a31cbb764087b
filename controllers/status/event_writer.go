// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"os"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

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

// EventWriter writes Events, one at a time in each namespace, so that a slow namespace does not delay others. The recorder of
// client-go combines Events about the same object with the same reason, and drops the note of the later ones. EventWriter does
// not combine Events, and does not cache them. Create it with NewEventWriter.
type EventWriter struct {
	client client.Client
	clock  clock.WithTicker
	host   string
	wake   chan struct{} // a namespace has a turn

	mu      sync.Mutex
	waiting map[string][]*eventsv1.Event // by namespace; the first of a namespace may be in flight
	inAll   int                          // of waiting
	turns   []string                     // the namespaces without an Event in flight, in order
}

// NewEventWriter returns an EventWriter with an empty queue.
func NewEventWriter(c client.Client, clock clock.WithTicker) *EventWriter {
	host, _ := os.Hostname()
	return &EventWriter{client: c, clock: clock, host: host, wake: make(chan struct{}, 1), waiting: map[string][]*eventsv1.Event{}}
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
	before := len(s.waiting[e.Namespace])
	if before >= eventsWaiting || s.inAll >= eventsInAll && !isAboutPolicy(e) { // Events about policies are few, and each is sent once
		return false
	}
	s.waiting[e.Namespace] = append(s.waiting[e.Namespace], e)
	s.inAll++
	if before == 0 {
		s.turn(e.Namespace)
	}
	return true
}

func isAboutPolicy(e *eventsv1.Event) bool {
	return e.Regarding.Kind == v1alpha1.ClusterRetentionPolicyKind.Kind || e.Regarding.Kind == v1alpha1.RetentionPolicyKind.Kind
}

// turn queues the first Event of a namespace after those of other namespaces.
func (s *EventWriter) turn(namespace string) {
	s.turns = append(s.turns, namespace)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Start writes Events until ctx ends.
func (s *EventWriter) Start(ctx context.Context) error {
	places := make(chan struct{}, eventsAtOnce)
	var writers sync.WaitGroup
	defer writers.Wait()
	for ctx.Err() == nil {
		e := s.next()
		if e == nil {
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case places <- struct{}{}:
		}
		writers.Go(func() {
			s.write(ctx, e)
			s.wrote(e)
			<-places
		})
		select {
		case <-ctx.Done():
		case <-s.clock.After(eventsPause):
		}
	}
	return nil
}

// next returns the Event whose turn it is; nil for none.
func (s *EventWriter) next() *eventsv1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		return nil
	}
	namespace := s.turns[0]
	s.turns = s.turns[1:]
	return s.waiting[namespace][0]
}

// wrote removes a written Event, and ends the turn of its namespace.
func (s *EventWriter) wrote(e *eventsv1.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inAll--
	rest := s.waiting[e.Namespace][1:]
	if s.waiting[e.Namespace] = rest; len(rest) > 0 {
		s.turn(e.Namespace)
	} else {
		delete(s.waiting, e.Namespace)
	}
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
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(eventAgain):
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

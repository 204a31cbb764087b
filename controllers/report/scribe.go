package report

import (
	"context"
	"os"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	eventsWaiting = 200                   // at most, to be written
	eventsPause   = 15 * time.Millisecond // between two, so that a burst of them delays no deletion
	eventTimeout  = 5 * time.Second
	eventTries    = 3
	eventAgain    = 2 * time.Second
)

// Scribe writes Events, one at a time. Unlike client-go's recorder it takes none for another one about the same object that
// has the same reason, whose note would be lost, and remembers none. Create it with NewScribe.
type Scribe struct {
	client  client.Client
	clock   clock.WithTicker
	host    string
	waiting chan *eventsv1.Event
}

// NewScribe makes a Scribe with nothing to write.
func NewScribe(c client.Client, clock clock.WithTicker) *Scribe {
	host, _ := os.Hostname()
	return &Scribe{client: c, clock: clock, host: host, waiting: make(chan *eventsv1.Event, eventsWaiting)}
}

// Tell implements Events.
func (s *Scribe) Tell(e *eventsv1.Event) bool {
	now := s.clock.Now()
	if e.Namespace = e.Regarding.Namespace; e.Namespace == "" {
		e.Namespace = "default" // where Events about what is in no namespace are
	}
	e.Name = util.GenerateEventName(e.Regarding.Name, now.UnixNano())
	e.EventTime.Time = now
	e.ReportingController, e.ReportingInstance = "sunset", "sunset-"+s.host
	select {
	case s.waiting <- e:
		return true
	default:
		return false
	}
}

// Start writes until ctx ends.
func (s *Scribe) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.waiting:
			s.write(ctx, e)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(eventsPause):
		}
	}
}

// NeedLeaderElection says that only the leader has something to tell.
func (s *Scribe) NeedLeaderElection() bool { return true }

// write tries until the API server has answered something that trying again does not change.
func (s *Scribe) write(ctx context.Context, e *eventsv1.Event) {
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

func (s *Scribe) create(ctx context.Context, e *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	return s.client.Create(ctx, e.DeepCopy())
}

// isFinal reports whether the API server refuses an Event: the namespace is being deleted, say, or the right is missing.
func isFinal(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonNotFound, metav1.StatusReasonBadRequest,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonUnauthorized:
		return true
	}
	return false
}

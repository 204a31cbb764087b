// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// page is an API server that receives Events.
type page struct {
	client.Client
	mu      sync.Mutex
	fail    []error // of the next writes
	tries   []time.Duration
	written []*eventsv1.Event
	began   time.Time
	slow    string // the namespace in which no write returns
}

func (p *page) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	if p.slow != "" && p.slow == o.GetNamespace() {
		<-ctx.Done()
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries = append(p.tries, time.Since(p.began))
	if len(p.fail) > 0 {
		err := p.fail[0]
		p.fail = p.fail[1:]
		if err != nil {
			return err
		}
	}
	p.written = append(p.written, o.(*eventsv1.Event))
	return nil
}

func (p *page) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.written)
}

// writing runs a test with a started EventWriter.
func writing(t *testing.T, fail []error, test func(t *testing.T, p *page, s *status.EventWriter)) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{fail: fail, began: time.Now()}
		s := status.NewEventWriter(p, clock.RealClock{})
		stop := bubble.Start(t, s.Start)
		test(t, p, s)
		stop()
		expect.Equal(t, "leader only", true, s.NeedLeaderElection())
	})
}

func about(namespace, name string) *eventsv1.Event {
	return &eventsv1.Event{Regarding: corev1.ObjectReference{Kind: "Job", Namespace: namespace, Name: name}, Reason: "Expired", Action: "Delete", Type: "Normal"}
}

func TestEventsAreWrittenWhereTheirObjectIs(t *testing.T) {
	writing(t, nil, func(t *testing.T, p *page, s *status.EventWriter) {
		s.Queue(about("team-a", "nightly"))
		s.Queue(about("", "batch"))
		bubble.Pass(time.Second)
		var namespaces []string
		for _, e := range p.written {
			namespaces = append(namespaces, e.Namespace)
			if e.Name == "" || e.ReportingController != "sunset" || e.ReportingInstance == "" || !e.EventTime.Time.Equal(p.began) {
				t.Errorf("written %+v", e)
			}
		}
		expect.Equal(t, "namespaces", []string{"team-a", "default"}, namespaces)
	})
}

func TestEventWriterWritesAllEventsOfObject(t *testing.T) {
	writing(t, nil, func(t *testing.T, p *page, s *status.EventWriter) {
		for i := range 10 {
			e := about("", "batch")
			e.Note = fmt.Sprint(i)
			s.Queue(e)
			bubble.Pass(time.Second)
		}
		names := map[string]bool{}
		for i, e := range p.written {
			names[e.Name] = true
			expect.Equal(t, "note", fmt.Sprint(i), e.Note)
		}
		expect.Equal(t, "names", 10, len(names))
	})
}

func TestEventsAreWrittenOneByOneAndNobodyWaitsForThem(t *testing.T) {
	writing(t, nil, func(t *testing.T, p *page, s *status.EventWriter) {
		taken := 0
		for i := range 5_000 {
			if s.Queue(about("team-a", fmt.Sprint("job-", i))) {
				taken++
			}
		}
		expect.Equal(t, "time it took", 0, time.Since(p.began))
		if taken < 200 || taken > 201 {
			t.Errorf("%d Events were queued", taken)
		}
		bubble.Pass(time.Second)
		if n := p.count(); n < 50 || n > 100 {
			t.Errorf("%d Events were written in a second", n)
		}
		bubble.Pass(time.Minute)
		expect.Equal(t, "written at the end", taken, p.count())
	})
}

// TestEventsOfANamespaceDelayNoOther, although a webhook does not respond there.
func TestEventsOfANamespaceDelayNoOther(t *testing.T) {
	writing(t, nil, func(t *testing.T, p *page, s *status.EventWriter) {
		p.slow = "bad"
		for i := range 300 {
			s.Queue(about("bad", fmt.Sprint("job-", i)))
		}
		for i := range 20 {
			expect.Equal(t, "taken", true, s.Queue(about("good", fmt.Sprint("job-", i))))
		}
		bubble.Pass(time.Second)
		expect.Equal(t, "written", 20, p.count())
	})
}

// TestEventsAboutPoliciesFindRoom, although the Events in other namespaces fill the queue.
func TestEventsAboutPoliciesFindRoom(t *testing.T) {
	writing(t, nil, func(t *testing.T, p *page, s *status.EventWriter) {
		s.Queue(about("bad-0", "first"))
		synctest.Wait() // it takes no other Event for a while
		for i := range 3000 {
			s.Queue(about(fmt.Sprint("bad-", i%12), fmt.Sprint("job-", i)))
		}
		expect.Equal(t, "queued about a Job", false, s.Queue(about("good", "job")))
		for i := range 300 {
			e := about("", fmt.Sprint("logs-", i))
			e.Regarding.Kind = "ClusterRetentionPolicy"
			expect.Equal(t, "queued about a policy", true, s.Queue(e))
		}
	})
}

func TestEventThatIsNotWritten(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("namespace is being deleted"))
	lost := errors.New("no answer")
	tests := map[string]struct {
		fail  []error
		tries int
		wrote int
	}{
		"it is retried":   {[]error{lost, lost}, 3, 1},
		"but not forever": {[]error{lost, lost, lost}, 3, 0},
		"it is not retried after a permanent error": {[]error{forbidden}, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			writing(t, test.fail, func(t *testing.T, p *page, s *status.EventWriter) {
				s.Queue(about("team-a", "nightly"))
				bubble.Pass(time.Minute)
				expect.Equal(t, "tries", test.tries, len(p.tries))
				expect.Equal(t, "written", test.wrote, len(p.written))
			})
		})
	}
}

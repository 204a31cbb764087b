// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// takeSnapshot takes another snapshot of the node.
func (m *machine) takeSnapshot() error {
	m.clock.Step(interval)
	source := m.Open(retention.NewRuleSet(v1alpha1.ImageKind, nil, nil))
	return source.Read(m.Context(), policy.Subject{Name: id("b")}, func(*index.FactRow) {})
}

// lose deletes an image, as any client may.
func (m *machine) lose(letter string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.listed, id(letter))
}

// TestRemovalsWithoutAnswerAreCountedLate: the agent counts a removal that ends after its deadline.
func TestRemovalsWithoutAnswerAreCountedLate(t *testing.T) {
	refused := status.Error(codes.Unknown, "in use by a container")
	tests := map[string]struct {
		answer error
		then   func(m *machine, w policy.DeletePermit)
		late   int
	}{
		"the image exists":          {context.DeadlineExceeded, func(*machine, policy.DeletePermit) {}, 0},
		"the image is gone":         {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 1},
		"the connection was closed": {status.Error(codes.Unavailable, "closing"), func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 1},
		"the removal was refused, and another client removes the image": {refused, func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 0},
		"another client removes the image much later": {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) {
			m.clock.Step(11 * time.Minute)
			m.lose("a")
		}, 0},
		"the image was removed, and pulled again before the next snapshot": {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) {
			m.mu.Lock() // a snapshot may be in progress
			defer m.mu.Unlock()
			delete(m.listed, id("a"))
			m.has("go/app:v1", "a")
		}, 0},
		"the removal is retried and succeeds": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.remove = nil
			if o := m.removeBy(w); o.Result != retention.Removed {
				m.Errorf("%s (%v)", o.Result, o.Err)
			}
		}, 0},
		"the removal is retried, and the image is gone": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.lose("a")
			if o := m.removeBy(w); o.Result != retention.Gone {
				m.Errorf("%s (%v)", o.Result, o.Err)
			}
		}, 1},
		"the removal is retried, and not sent because its checks are too old": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			prepared := m.prepare(w)
			defer prepared.Release()
			m.clock.Step(2 * time.Second)
			if o := prepared.Send(m.Context(), cleared(m.T, w), prepared.Since); !o.Unsent {
				m.Errorf("%s (%v)", o.Result, o.Err)
			}
			m.lose("a")
		}, 1},
		"the removal is retried and has no answer": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.removeBy(w)
			m.lose("a")
		}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			var late []retention.Removal
			m.Late = func(r retention.Removal) {
				late = append(late, r)
				expect.Equal(t, "bytes", 7, m.Summary(r.Subject.Name).Bytes)
			}
			m.remove = func(string) error { return test.answer }
			if o := m.removeBy(w); !o.Unsure || o.Unsent {
				t.Fatalf("%+v", o)
			}
			test.then(m, w)
			for range 3 {
				expect.NoError(t, m.takeSnapshot())
			}
			if len(late) != test.late {
				t.Fatalf("counted %d times, want %d", len(late), test.late)
			}
			for _, r := range late {
				if r.Subject.Name != id("a") || r.Rule.ID.Rule != "r" || r.Reason != policy.Expired {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestRemovalThatIsCountedLateHasItsBytes: many other images may disappear before the removal is counted.
func TestRemovalThatIsCountedLateHasItsBytes(t *testing.T) {
	m, w := permitted(t)
	var late []int64
	m.Late = func(r retention.Removal) { late = append(late, m.Summary(r.Subject.Name).Bytes) }
	m.remove = func(id string) error {
		delete(m.listed, id)
		return context.DeadlineExceeded
	}
	m.Node.Failed = func(string) { // called before the agent checks whether the image is gone
		for _, change := range []func(id string){
			func(id string) { m.listed[id] = cri.Image{ID: id} },
			func(id string) { delete(m.listed, id) },
			func(string) {},
		} {
			m.mu.Lock() // a snapshot may be in progress
			for i := range 1100 {
				change(fmt.Sprint(i))
			}
			m.mu.Unlock()
			expect.NoError(t, m.takeSnapshot())
		}
		m.answer(errors.New("away"))
	}
	if o := m.removeBy(w); !o.Unsure {
		t.Fatalf("%+v", o)
	}
	m.answer(nil)
	expect.NoError(t, m.takeSnapshot())
	expect.Equal(t, "bytes of the removals that were counted late", []int64{7}, late)
}

// answer sets the error of requests for images; nil if they succeed.
func (m *machine) answer(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = err
}

// TestErrPodsIsNoErrorOfTheRuntime: an API server that does not list the Pods is not an error of the runtime. No
// image is removed until it does.
func TestErrPodsIsNoErrorOfTheRuntime(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	w := m.permit("a")
	m.Cluster = silent{api{m}}
	if o := m.removeBy(w); o.Result != retention.Failed || len(m.removed) > 0 || !errors.Is(m.LastError(), images.ErrPods) {
		t.Errorf("%s, %v, error: %v", o.Result, m.removed, m.LastError())
	}
	m.Cluster, m.list = api{m}, errors.New("away")
	if err := m.takeSnapshot(); err == nil || errors.Is(m.LastError(), images.ErrPods) {
		t.Errorf("error: %v", m.LastError())
	}
}

// silent is an API server that does not answer.
type silent struct{ api }

func (silent) Pods(context.Context) ([]corev1.Pod, time.Time, error) {
	return nil, time.Time{}, errors.New("no answer")
}

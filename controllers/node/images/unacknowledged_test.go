package images_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// look looks at the node once more.
func (m *machine) look() error {
	m.clock.Step(interval)
	source := m.Open(retention.NewRuleSet(v1alpha1.ImageKind, nil, nil))
	return source.Read(m.Context(), policy.Subject{Name: id("b")}, func(*index.FactRow) {})
}

// lose has images go away, whoever did it.
func (m *machine) lose(letter string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.listed, id(letter))
}

// TestWhatNobodyAnsweredCountsOnceItIsGone: a removal that ends after its deadline is ours.
func TestWhatNobodyAnsweredCountsOnceItIsGone(t *testing.T) {
	refused := status.Error(codes.Unknown, "in use by a container")
	tests := map[string]struct {
		answer error
		then   func(m *machine, w policy.DeletePermit)
		late   int
	}{
		"it is there":             {context.DeadlineExceeded, func(*machine, policy.DeletePermit) {}, 0},
		"it is gone":              {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 1},
		"the runtime was cut off": {status.Error(codes.Unavailable, "closing"), func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 1},
		"it was refused, and somebody else removes it": {refused, func(m *machine, _ policy.DeletePermit) { m.lose("a") }, 0},
		"somebody else removes it much later": {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) {
			m.clock.Step(11 * time.Minute)
			m.lose("a")
		}, 0},
		"it was gone, and pulled again before anybody looked": {context.DeadlineExceeded, func(m *machine, _ policy.DeletePermit) {
			m.mu.Lock() // a look may be under way
			defer m.mu.Unlock()
			delete(m.listed, id("a"))
			m.has("go/app:v1", "a")
		}, 0},
		"it is tried again, and answered": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.remove = nil
			if o := m.removeBy(w); o.Result != retention.Removed {
				m.Errorf("%s (%v)", o.Result, o.Err)
			}
		}, 0},
		"it is tried again, and was gone": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.lose("a")
			if o := m.removeBy(w); o.Result != retention.Gone {
				m.Errorf("%s (%v)", o.Result, o.Err)
			}
		}, 1},
		"it is tried again, and nobody answers": {context.DeadlineExceeded, func(m *machine, w policy.DeletePermit) {
			m.removeBy(w)
			m.lose("a")
		}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			m.has("go/else:v1", "b")
			var late []retention.Removal
			m.Late = func(r retention.Removal) { late = append(late, r) }
			w := m.warrant("a")
			m.remove = func(string) error { return test.answer }
			if o := m.removeBy(w); !o.Unsure || o.Unsent {
				t.Fatalf("%+v", o)
			}
			test.then(m, w)
			for range 3 {
				expect.NoError(t, m.look())
			}
			if len(late) != test.late {
				t.Fatalf("counted %d times, want %d", len(late), test.late)
			}
			for _, r := range late {
				if r.Subject.Name != id("a") || r.Rule.ID.Rule != "r" || r.Reason != policy.Expired || m.Summary(id("a")).Bytes != 7 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestPodsThatAreNotToldAreNoTroubleOfTheRuntime, and no image is removed meanwhile.
func TestPodsThatAreNotToldAreNoTroubleOfTheRuntime(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	w := m.warrant("a")
	m.Cluster = silent{api{m}}
	if o := m.removeBy(w); o.Result != retention.Failed || len(m.removed) > 0 || !errors.Is(m.Trouble(), images.ErrPods) {
		t.Errorf("%s, %v, trouble: %v", o.Result, m.removed, m.Trouble())
	}
	m.Cluster, m.list = api{m}, errors.New("away")
	if err := m.look(); err == nil || errors.Is(m.Trouble(), images.ErrPods) {
		t.Errorf("trouble: %v", m.Trouble())
	}
}

// silent is an API server that does not answer.
type silent struct{ api }

func (silent) Pods(context.Context) ([]corev1.Pod, time.Time, error) {
	return nil, time.Time{}, errors.New("no answer")
}

// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/expect"
)

// scripted is a machine with a runtime behind a socket, whose answers the test sets. Calls time out after a second.
func scripted(t *testing.T) (*machine, *critest.Server) {
	t.Helper()
	m, s := newMachine(t), critest.Start(t)
	r, err := cri.Dial(s.Endpoint, cri.Options{Timeout: time.Second})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	m.Runtime = r
	return m, s
}

// TestF41RuntimeErrors: the socket or the answers of the runtime fail between the decision and the removal. The agent
// removes nothing, reports the error and does not block for long. Once the runtime has recovered, the agent removes the image.
func TestF41RuntimeErrors(t *testing.T) {
	on := func(h critest.Hook, calls ...string) func(*critest.Server) {
		return func(s *critest.Server) {
			for _, call := range calls {
				s.On(call, h)
			}
		}
	}
	const all, one, containers, sandboxes = "ListImages", "ImageStatus", "ListContainers", "ListPodSandbox"
	tests := map[string]struct {
		trouble func(*critest.Server)
		says    string
	}{
		"no images":                          {func(s *critest.Server) { s.Update(func(s *critest.State) { s.Images = nil }) }, "lists no image"},
		"requests for images hang":           {on(critest.Hang, all, one), "DeadlineExceeded"},
		"requests for containers hang":       {on(critest.Hang, containers), "DeadlineExceeded"},
		"requests for sandboxes hang":        {on(critest.Hang, sandboxes), "DeadlineExceeded"},
		"all requests hang":                  {on(critest.Hang, all, one, containers, sandboxes), "DeadlineExceeded"},
		"requests for images are denied":     {on(critest.Fail(codes.PermissionDenied), all, one), "PermissionDenied"},
		"requests for containers are denied": {on(critest.Fail(codes.PermissionDenied), containers), "PermissionDenied"},
		"the runtime is down":                {(*critest.Server).Down, "Unavailable"},
		"an image has no ID":                 {func(s *critest.Server) { s.On(all, critest.Nameless); s.On(one, critest.Fail(codes.Internal)) }, "BadAnswer"},
		"a container has no ID":              {on(critest.Nameless, containers), "BadAnswer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, s := scripted(t)
			there := critest.State{}
			s.Update(func(s *critest.State) {
				s.Images = append(s.Images, critest.Image(1, "go/app:v1"), critest.Image(2, "go/other:v1"))
				s.Images[0].Id = id("a")
				there.Images = s.Images
			})
			w := m.permit("a")
			test.trouble(s)
			began := time.Now()
			outcome, err := m.removeBy(w), m.takeSnapshot()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if outcome.Result == retention.Removed || outcome.Result == retention.Gone || s.Calls("RemoveImage") > 0 || !outcome.Unsent {
				t.Errorf("%s (%v) after %d removals", outcome.Result, outcome.Err, s.Calls("RemoveImage"))
			}
			if trouble := m.LastError(); err == nil || trouble == nil || !strings.Contains(cri.Code(trouble)+": "+trouble.Error(), test.says) {
				t.Errorf("a snapshot fails with %v and the node reports %v, want %q", err, trouble, test.says)
			}
			m.heal(s, there)
			if outcome := m.removeBy(m.permit("a")); outcome.Result != retention.Removed || m.LastError() != nil {
				t.Errorf("after recovery: %s (%v), error %v", outcome.Result, outcome.Err, m.LastError())
			}
		})
	}
}

// heal makes a runtime recover, and waits until the agent reaches it again.
func (m *machine) heal(s *critest.Server, there critest.State) {
	m.Helper()
	for _, call := range []string{"ListImages", "ImageStatus", "ListContainers", "ListPodSandbox"} {
		s.On(call, nil)
	}
	s.Update(func(s *critest.State) { s.Images = there.Images })
	s.Up()
	for end := time.Now().Add(30 * time.Second); m.takeSnapshot() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.Fatalf("the runtime has not recovered: %v", m.LastError())
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/expect"
)

// client is a client of a runtime. While it is hasty, calls time out after a second: on a busy machine, this may be too short for a
// runtime that answers.
type client struct {
	images.Runtime
	short   images.Runtime
	isHasty atomic.Bool
}

func (c *client) now() images.Runtime {
	if c.isHasty.Load() {
		return c.short
	}
	return c.Runtime
}

func (c *client) Images(ctx context.Context) ([]cri.Image, error) { return c.now().Images(ctx) }

func (c *client) Image(ctx context.Context, id string) (cri.Image, bool, error) {
	return c.now().Image(ctx, id)
}

func (c *client) Uses(ctx context.Context) (cri.Uses, error) { return c.now().Uses(ctx) }

// scripted is a machine with a runtime behind a socket, whose answers the test sets.
func scripted(t *testing.T) (*machine, *critest.Server, *client) {
	t.Helper()
	m, s := newMachine(t), critest.Start(t)
	dial := func(o cri.Options) *cri.Runtime {
		r, err := cri.Dial(s.Endpoint, o)
		expect.NoError(t, err)
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	c := &client{Runtime: dial(cri.Options{}), short: dial(cri.Options{Timeout: time.Second})}
	m.Runtime = c
	return m, s, c
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
			m, s, c := scripted(t)
			there := critest.State{}
			s.Update(func(s *critest.State) {
				s.Images = append(s.Images, critest.Image(1, "go/app:v1"), critest.Image(2, "go/other:v1"))
				s.Images[0].Id = id("a")
				there.Images = s.Images
			})
			w := m.permit("a")
			test.trouble(s)
			c.isHasty.Store(test.says == "DeadlineExceeded")
			began := time.Now()
			outcome, err := m.removeBy(w), m.takeSnapshot()
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			c.isHasty.Store(false)
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
	for end := time.Now().Add(time.Minute); m.takeSnapshot() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.Fatalf("the runtime has not recovered: %v", m.LastError())
		}
	}
}

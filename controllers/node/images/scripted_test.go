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

// scripted is a machine whose runtime answers over a socket, as the test has it. What is not answered soon is an error.
func scripted(t *testing.T) (*machine, *critest.Server) {
	t.Helper()
	m, s := newMachine(t), critest.Start(t)
	r, err := cri.Dial(s.Endpoint, cri.Options{Timeout: time.Second})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	m.Runtime = r
	return m, s
}

// TestF41ARuntimeInTrouble: whatever is wrong with the socket or its answers between the verdict and the removal, nothing is
// removed, the node says what is wrong, and nobody waits for long. When it is well again the image goes.
func TestF41ARuntimeInTrouble(t *testing.T) {
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
		"it has nothing":                        {func(s *critest.Server) { s.Update(func(s *critest.State) { s.Images = nil }) }, "lists no image"},
		"it hangs when asked for images":        {on(critest.Hang, all, one), "DeadlineExceeded"},
		"it hangs when asked for containers":    {on(critest.Hang, containers), "DeadlineExceeded"},
		"it hangs when asked for sandboxes":     {on(critest.Hang, sandboxes), "DeadlineExceeded"},
		"it hangs":                              {on(critest.Hang, all, one, containers, sandboxes), "DeadlineExceeded"},
		"it may not be asked for images":        {on(critest.Fail(codes.PermissionDenied), all, one), "PermissionDenied"},
		"it may not be asked for containers":    {on(critest.Fail(codes.PermissionDenied), containers), "PermissionDenied"},
		"it is down":                            {(*critest.Server).Down, "Unavailable"},
		"it lists an image that has no ID":      {func(s *critest.Server) { s.On(all, critest.Nameless); s.On(one, critest.Fail(codes.Internal)) }, "BadAnswer"},
		"it does not know what containers need": {on(critest.Nameless, containers), "BadAnswer"},
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
			w := m.warrant("a")
			test.trouble(s)
			began := time.Now()
			outcome, err := m.removeBy(w), m.look()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if outcome.Result == retention.Removed || outcome.Result == retention.Gone || s.Calls("RemoveImage") > 0 || !outcome.Unsent {
				t.Errorf("%s (%v) after %d removals", outcome.Result, outcome.Err, s.Calls("RemoveImage"))
			}
			if trouble := m.Trouble(); err == nil || trouble == nil || !strings.Contains(cri.Code(trouble)+": "+trouble.Error(), test.says) {
				t.Errorf("a look gives %v, and the node says %v, not %q", err, trouble, test.says)
			}
			m.heal(s, there)
			if outcome := m.removeBy(m.warrant("a")); outcome.Result != retention.Removed || m.Trouble() != nil {
				t.Errorf("well again: %s (%v), trouble %v", outcome.Result, outcome.Err, m.Trouble())
			}
		})
	}
}

// heal makes a runtime well, and waits until it is heard of again.
func (m *machine) heal(s *critest.Server, there critest.State) {
	m.Helper()
	for _, call := range []string{"ListImages", "ImageStatus", "ListContainers", "ListPodSandbox"} {
		s.On(call, nil)
	}
	s.Update(func(s *critest.State) { s.Images = there.Images })
	s.Up()
	for end := time.Now().Add(30 * time.Second); m.look() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.Fatalf("it is not well: %v", m.Trouble())
		}
	}
}

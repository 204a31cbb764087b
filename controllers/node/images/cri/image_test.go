// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestImagesAreWhatIsListed(t *testing.T) {
	server, r := dial(t, cri.Options{})
	bare := strings.TrimPrefix(critest.ID(2), "sha256:") // as CRI-O has them
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{
			{Id: critest.ID(1), RepoTags: []string{"a:1", "a:2"}, RepoDigests: []string{repoDigest("a", 9)}, Size: 7, Pinned: true},
			{Id: bare, Size: math.MaxInt64 - 7, Spec: &runtimeapi.ImageSpec{RuntimeHandler: "kata"}},
		}
	})
	got, err := r.Images(t.Context())
	expect.NoError(t, err)
	want := []cri.Image{
		{ID: critest.ID(1), Tags: []string{"a:1", "a:2"}, Digests: []string{repoDigest("a", 9)}, SizeBytes: 7, Pinned: true},
		{ID: bare, SizeBytes: math.MaxInt64 - 7, RuntimeHandler: "kata"},
	}
	expect.Equal(t, "images", want, got)
}

// TestLinesAboutOneImageAreMerged: CRI-O lists an OCI artifact once for each tag.
func TestLinesAboutOneImageAreMerged(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{
			{Id: critest.ID(1), RepoTags: []string{"a:2"}, RepoDigests: []string{repoDigest("a", 9)}, Size: 7},
			image(2),
			{Id: critest.ID(1), RepoTags: []string{"a:1"}, RepoDigests: []string{repoDigest("a", 9)}, Size: 8, Pinned: true},
			{Id: critest.ID(1)},
		}
	})
	got, err := r.Images(t.Context())
	expect.NoError(t, err)
	want := []cri.Image{
		{ID: critest.ID(1), Tags: []string{"a:1", "a:2"}, Digests: []string{repoDigest("a", 9)}, SizeBytes: 8, Pinned: true},
		{ID: critest.ID(2), SizeBytes: got[1].SizeBytes},
	}
	expect.Equal(t, "images", want, got)
}

func TestHostileListIsAnErrorAsAWhole(t *testing.T) {
	hex := strings.TrimPrefix(critest.ID(1), "sha256:")
	for name, listed := range map[string]*runtimeapi.Image{
		"no ID":                     {},
		"a short ID":                {Id: "sha256:0000000000"},
		"a short ID without prefix": {Id: hex[:12]},
		"a tag as ID":               {Id: "docker.io/library/nginx:latest"},
		"an ID with upper case":     {Id: "sha256:" + strings.Repeat("A", 64)},
		"an ID and a line":          {Id: critest.ID(2) + "\n"},
		"an ID of too many digits":  {Id: critest.ID(2) + "0"},
		"another runtime handler":   {Id: critest.ID(1), Spec: &runtimeapi.ImageSpec{RuntimeHandler: "kata"}},
		"the same ID, bare":         {Id: hex},
		"a size beyond int64":       {Id: critest.ID(2), Size: math.MaxInt64 + 1},
		"a sum beyond int64":        {Id: critest.ID(2), Size: math.MaxInt64},
		"an empty tag":              image(2, "a:1", ""),
		"an empty digest":           {Id: critest.ID(2), RepoDigests: []string{""}},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1), listed} })
		all, err := r.Images(t.Context())
		if cri.Code(err) != "BadAnswer" || all != nil {
			t.Errorf("%s: %v, %v; want an error and no list", name, all, err)
		}
	}
}

func TestRuntimeImageChecksIDsAndAnswers(t *testing.T) {
	asked := critest.ID(1)
	hostile := func(i *runtimeapi.Image) critest.Hook {
		return critest.Answer(&runtimeapi.ImageStatusResponse{Image: i})
	}
	for name, test := range map[string]struct {
		id    string
		hook  critest.Hook // nil for a valid response
		code  string
		there bool
	}{
		"an image":                     {asked, nil, "OK", true},
		"an image that does not exist": {critest.ID(3), nil, "OK", false},
		"not found":                    {asked, critest.Fail(codes.NotFound), "OK", false},
		"a tag":                        {"a:1", nil, "NotFullID", false},
		"a short ID":                   {asked[:20], nil, "NotFullID", false},
		"another image":                {asked, hostile(image(2)), "BadAnswer", false},
		"an image without ID":          {asked, hostile(&runtimeapi.Image{}), "BadAnswer", false},
		"an empty tag":                 {asked, hostile(image(1, "")), "BadAnswer", false},
		"a size beyond int64":          {asked, hostile(&runtimeapi.Image{Id: asked, Size: math.MaxInt64 + 1}), "BadAnswer", false},
		"no answer":                    {asked, critest.Fail(codes.Unavailable), "Unavailable", false},
		"an empty response":            {asked, hostile(nil), "OK", false},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1, "a:1"), image(2)} })
		if test.hook != nil {
			server.On("ImageStatus", test.hook)
		}
		got, there, err := r.Image(t.Context(), test.id)
		wantCode(t, name, err, test.code)
		listed, _ := r.Images(t.Context())
		if there != test.there || there && cmp.Diff(listed[0], got) != "" {
			t.Errorf("%s: %+v, %t; want %t", name, got, there, test.there)
		}
	}
}

func TestListThatIsTooLongIsAnError(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		for n := range 17 {
			s.Images = append(s.Images, image(n, fmt.Sprintf("a:%d-%s", n, strings.Repeat("x", 1<<20))))
		}
	})
	_, err := r.Images(t.Context())
	wantCode(t, "17 MiB", err, "ResourceExhausted")
	server.Update(func(s *critest.State) { s.Images = s.Images[:15] })
	if all, err := r.Images(t.Context()); err != nil || len(all) != 15 {
		t.Errorf("15 MiB: %d images, %v", len(all), err)
	}
}

func TestRemove(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1, "a:1", "a:2"), image(2)} })
	for _, name := range []string{"", "a:1", critest.ID(1)[:20], "sha256:", repoDigest("a", 1)} {
		wantCode(t, fmt.Sprintf("removing %q", name), r.Remove(t.Context(), name, nil), "NotFullID")
	}
	if server.Calls("RemoveImage") != 0 {
		t.Error("a request was sent")
	}
	for range 2 { // the second time the image does not exist
		if err := r.Remove(t.Context(), critest.ID(1), nil); err != nil {
			t.Error(err)
		}
	}
	if all, _ := r.Images(t.Context()); len(all) != 1 || all[0].ID != critest.ID(2) {
		t.Errorf("left: %v", all)
	}
}

// TestRemoveChecksWhenItWrites: a runtime that restarts accepts a connection before it answers on it. Until then, no request is written.
func TestRemoveChecksWhenItWrites(t *testing.T) {
	dir, err := os.MkdirTemp("", "cri") // the path of t.TempDir may be too long for a socket
	expect.NoError(t, err)
	defer func() { expect.NoError(t, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	expect.NoError(t, err)
	r, err := cri.Dial(socket, cri.Options{})
	expect.NoError(t, err)
	defer func() { expect.NoError(t, r.Close()) }()
	late := errors.New("late")
	checks, removed := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		removed <- r.Remove(t.Context(), critest.ID(1), func() error {
			checks <- struct{}{}
			return late
		})
	}()
	conn, err := listener.Accept()
	expect.NoError(t, err)
	select {
	case <-checks:
		t.Error("checked before the runtime answers")
	case <-time.After(100 * time.Millisecond):
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		t.Error("a request was sent")
		return nil
	}))
	go func() { _ = server.Serve(&oneConn{Listener: listener, first: conn}) }()
	defer server.Stop()
	if err := <-removed; !errors.Is(err, late) {
		t.Errorf("error %v, want that of the check", err)
	}
	<-checks
}

// oneConn is a listener that has accepted a connection already.
type oneConn struct {
	net.Listener
	first net.Conn
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.first; conn != nil {
		l.first = nil
		return conn, nil
	}
	return l.Listener.Accept()
}

// TestFailedRemovalIsNotKnown: the image is gone in all these cases, although the call fails.
func TestFailedRemovalIsNotKnown(t *testing.T) {
	for want, test := range map[string]struct {
		hook    critest.Hook
		timeout time.Duration
	}{
		"Internal":         {critest.FailAfter(codes.Internal), 0},
		"DeadlineExceeded": {critest.HangAfter, soon},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1)} })
		server.On("RemoveImage", test.hook)
		removes, isGone := dialAgain(t, server, cri.Options{Timeout: test.timeout}), func() bool {
			all, err := r.Images(t.Context())
			expect.NoError(t, err)
			return len(all) == 0
		}
		wantCode(t, want, removes.Remove(t.Context(), critest.ID(1), nil), want)
		for tries := 0; test.timeout > 0 && !isGone() && tries < 60; tries++ {
			wantCode(t, want, removes.Remove(t.Context(), critest.ID(1), nil), want)
		}
		if all, err := r.Images(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%s: left %v, %v", want, all, err)
		}
	}
}

// TestRemovalOutlivesItsCaller: the end of the caller's context does not cancel the call.
func TestRemovalOutlivesItsCaller(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1)} })
	reached, goOn, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	server.On("RemoveImage", func(ctx context.Context, _ any, handle func() (any, error)) (any, error) {
		close(reached)
		<-goOn
		select { // a cancellation would take a moment to arrive
		case <-ctx.Done():
		case <-time.After(soon):
		}
		told <- ctx.Err()
		return handle()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	wantCode(t, "removing", r.Remove(ctx, critest.ID(1), nil), "Canceled")
	close(goOn)
	if err := <-told; err != nil {
		t.Errorf("the call was canceled: %v", err)
	}
	wantCode(t, "removing with a canceled context", r.Remove(ctx, critest.ID(1), nil), "Canceled")
	expect.Equal(t, "removals", 1, server.Calls("RemoveImage"))
}

func TestFilesystems(t *testing.T) {
	usage := func(mountpoint string) *runtimeapi.FilesystemUsage {
		return &runtimeapi.FilesystemUsage{FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: mountpoint}}
	}
	for name, test := range map[string]struct {
		told []*runtimeapi.FilesystemUsage
		code string
	}{
		"one":                {[]*runtimeapi.FilesystemUsage{usage("/var/lib")}, "OK"},
		"none":               {nil, "BadAnswer"},
		"one without a path": {[]*runtimeapi.FilesystemUsage{usage("/a"), usage("")}, "BadAnswer"},
		"a relative path":    {[]*runtimeapi.FilesystemUsage{usage("var")}, "BadAnswer"},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) { s.Filesystems = test.told })
		got, err := r.Filesystems(t.Context())
		wantCode(t, name, err, test.code)
		if err == nil {
			expect.Equal(t, name, []string{"/var/lib"}, got)
		}
	}
}

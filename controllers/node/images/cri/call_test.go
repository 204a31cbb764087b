// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestEndpointsAreUnixSockets(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"unix:///run/containerd/containerd.sock": true,
		"/run/crio/crio.sock":                    true,
		"":                                       false,
		"run/containerd.sock":                    false,
		"unix://run/containerd.sock":             false,
		"tcp://127.0.0.1:1234":                   false,
		"npipe:////./pipe/containerd":            false,
		"/" + strings.Repeat("x", 107):           false,
	} {
		r, err := cri.Dial(endpoint, cri.Options{})
		if (err == nil) != ok {
			t.Errorf("%q: %v, want ok %t", endpoint, err, ok)
		}
		if err == nil {
			_ = r.Close()
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", endpoint)) {
			t.Errorf("%q is not in its error: %v", endpoint, err)
		}
	}
}

func TestEveryCallEndsByItsDeadline(t *testing.T) {
	for call := range calls(nil) {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			server, r := dial(t, cri.Options{Timeout: soon})
			server.On(call, critest.Hang)
			sent := 0
			for ; server.Calls(call) == 0; sent++ {
				wantCode(t, call, calls(r)[call](t.Context()), "DeadlineExceeded")
			}
			if n := server.Calls(call); n > sent {
				t.Errorf("%d received calls, want at most %d", n, sent)
			}
			server.On(call, nil) // the next call succeeds
			err := calls(r)[call](t.Context())
			for tries := 0; cri.Code(err) == "DeadlineExceeded" && tries < 60; tries++ {
				err = calls(r)[call](t.Context())
			}
			if cri.Code(err) != "OK" && cri.Code(err) != "BadAnswer" {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestCallersEndIsAnEnd(t *testing.T) {
	for call := range calls(nil) {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			server, r := dial(t, cri.Options{})
			reached := make(chan struct{})
			server.On(call, func(ctx context.Context, q any, handle func() (any, error)) (any, error) {
				close(reached)
				return critest.Hang(ctx, q, handle)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			wantCode(t, call, calls(r)[call](ctx), "Canceled")
		})
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	for call := range calls(nil) {
		for _, code := range []codes.Code{codes.Unimplemented, codes.Internal, codes.PermissionDenied} {
			server, r := dial(t, cri.Options{})
			server.On(call, critest.Fail(code))
			wantCode(t, call, calls(r)[call](t.Context()), code.String())
		}
	}
}

func TestCodes(t *testing.T) {
	for want, err := range map[string]error{
		"OK":               nil,
		"Unknown":          errors.New("anything"),
		"Canceled":         fmt.Errorf("wrapped: %w", context.Canceled),
		"DeadlineExceeded": context.DeadlineExceeded,
		"Unavailable":      fmt.Errorf("wrapped: %w", status.Error(codes.Unavailable, "away")),
		"BadAnswer":        fmt.Errorf("wrapped: %w", cri.ErrAnswer),
		"NotFullID":        cri.ErrNotFullID,
	} {
		expect.Equal(t, "code", want, cri.Code(err))
	}
	expect.Equal(t, "an undefined code", "Unknown", cri.Code(status.Error(4711, "")))
}

func TestRuntimeComesGoesAndComesBack(t *testing.T) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("cri-nobody-%d.sock", time.Now().UnixNano()))
	nobody, err := cri.Dial(path, cri.Options{})
	expect.NoError(t, err)
	defer func() { _ = nobody.Close() }()
	_, err = nobody.Images(t.Context())
	wantCode(t, "no runtime has ever listened", err, "Unavailable")
	if !strings.Contains(err.Error(), path) {
		t.Errorf("the error does not name the socket: %v", err)
	}

	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) { s.Images = []*runtimeapi.Image{image(1)} })
	for range 3 {
		if all, err := r.Images(t.Context()); err != nil || len(all) != 1 {
			t.Fatalf("images %v, %v", all, err)
		}
		server.Down()
		_, err := r.Images(t.Context())
		wantCode(t, "away", err, "Unavailable")
		server.Up()
		back(t, r)
	}
}

// back waits until the runtime answers again, which may take as long as the longest backoff.
func back(t *testing.T, r *cri.Runtime) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := r.Images(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the runtime is not back: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestCallUnderWayEndsWithTheRuntime(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.On("ListImages", func(ctx context.Context, q any, handle func() (any, error)) (any, error) {
		go server.Down()
		return critest.Hang(ctx, q, handle)
	})
	_, err := r.Images(t.Context())
	wantCode(t, "listing", err, "Unavailable")
}

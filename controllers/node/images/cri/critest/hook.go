// SPDX-License-Identifier: Apache-2.0

package critest

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Hook replaces the handling of a call. handle executes the call and returns the normal answer; a hook need not call it. ctx
// ends when the client gives up or the runtime goes down.
type Hook func(ctx context.Context, request any, handle func() (any, error)) (answer any, err error)

// On sets the hook of a call, such as "ListImages". Nil removes the hook.
func (s *Server) On(call string, h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[call] = h
}

// Calls returns how often a call was received.
func (s *Server) Calls(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[call]
}

func (s *Server) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	call := path.Base(info.FullMethod)
	s.mu.Lock()
	s.counts[call]++
	hook := s.hooks[call]
	s.mu.Unlock()
	ordinary := func() (any, error) { return handle(ctx, request) }
	if hook == nil {
		return ordinary()
	}
	return hook(ctx, request, ordinary)
}

// Hang is a hook that does not answer.
func Hang(ctx context.Context, _ any, _ func() (any, error)) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// HangAfter is a hook that executes the call and does not answer.
func HangAfter(ctx context.Context, request any, handle func() (any, error)) (any, error) {
	if _, err := handle(); err != nil {
		return nil, err
	}
	return Hang(ctx, request, handle)
}

// Fail returns a hook that answers with an error of a code.
func Fail(code codes.Code) Hook {
	return func(context.Context, any, func() (any, error)) (any, error) {
		return nil, status.Error(code, "error set by the test")
	}
}

// FailAfter returns a hook that executes the call and then answers with an error.
func FailAfter(code codes.Code) Hook {
	return func(_ context.Context, _ any, handle func() (any, error)) (any, error) {
		if _, err := handle(); err != nil {
			return nil, err
		}
		return nil, status.Error(code, "error set by the test, after success")
	}
}

// Answer returns a hook with a fixed answer: a pointer to the call's response.
func Answer(answer any) Hook {
	return func(context.Context, any, func() (any, error)) (any, error) { return answer, nil }
}

// Nameless is a hook that lists one image, container or sandbox without any fields, not even an ID.
func Nameless(_ context.Context, request any, handle func() (any, error)) (any, error) {
	switch request.(type) {
	case *runtimeapi.ListImagesRequest:
		return &runtimeapi.ListImagesResponse{Images: []*runtimeapi.Image{{}}}, nil
	case *runtimeapi.ListContainersRequest:
		return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{}}}, nil
	case *runtimeapi.ListPodSandboxRequest:
		return &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{}}}, nil
	}
	return handle()
}

// Asked returns the image that a request is about: its ID, or another name in the request.
func Asked(request any) string {
	of, _ := request.(interface{ GetImage() *runtimeapi.ImageSpec })
	if of == nil {
		return ""
	}
	return of.GetImage().GetImage()
}

// Removals returns a hook of RemoveImage that calls another hook for each image, by its ID. Images without a hook are removed.
func Removals(hooks map[string]Hook) Hook {
	return func(ctx context.Context, request any, handle func() (any, error)) (any, error) {
		if h := hooks[Asked(request)]; h != nil {
			return h(ctx, request, handle)
		}
		return handle()
	}
}

// RemoveNothing is a hook that reports a removal but removes nothing.
func RemoveNothing(context.Context, any, func() (any, error)) (any, error) {
	return &runtimeapi.RemoveImageResponse{}, nil
}

package critest

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Hook is called instead of what answers a call. handle gives the ordinary answer, and makes what it says true; a hook
// need not call it. ctx ends when the client gives up or the runtime goes down.
type Hook func(ctx context.Context, request any, handle func() (any, error)) (answer any, err error)

// On sets the hook of a call, such as "ListImages". Nil takes it away.
func (s *Server) On(call string, h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[call] = h
}

// Calls is how often a call has come in.
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

// Hang does not answer.
func Hang(ctx context.Context, _ any, _ func() (any, error)) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// HangAfter does what was asked, and does not answer.
func HangAfter(ctx context.Context, request any, handle func() (any, error)) (any, error) {
	if _, err := handle(); err != nil {
		return nil, err
	}
	return Hang(ctx, request, handle)
}

// Fail refuses with a code.
func Fail(code codes.Code) Hook {
	return func(context.Context, any, func() (any, error)) (any, error) {
		return nil, status.Error(code, "told to fail")
	}
}

// FailAfter does what was asked, and then says that it failed.
func FailAfter(code codes.Code) Hook {
	return func(_ context.Context, _ any, handle func() (any, error)) (any, error) {
		if _, err := handle(); err != nil {
			return nil, err
		}
		return nil, status.Error(code, "told to fail after success")
	}
}

// Answer gives an answer, a pointer to the call's response, whatever was asked.
func Answer(answer any) Hook {
	return func(context.Context, any, func() (any, error)) (any, error) { return answer, nil }
}

// Nameless lists one image, container or sandbox of which there is nothing, not even an ID, whatever of these is listed.
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

// Asked is the image that a call is about: its ID, or however it was named.
func Asked(request any) string {
	of, _ := request.(interface{ GetImage() *runtimeapi.ImageSpec })
	if of == nil {
		return ""
	}
	return of.GetImage().GetImage()
}

// Removals is a hook of RemoveImage that calls another for each image, by its ID; those without are removed.
func Removals(hooks map[string]Hook) Hook {
	return func(ctx context.Context, request any, handle func() (any, error)) (any, error) {
		if h := hooks[Asked(request)]; h != nil {
			return h(ctx, request, handle)
		}
		return handle()
	}
}

// RemoveNothing says that an image was removed, and does nothing.
func RemoveNothing(context.Context, any, func() (any, error)) (any, error) {
	return &runtimeapi.RemoveImageResponse{}, nil
}

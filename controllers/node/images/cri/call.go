package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// How long each call may take. A runtime that is well answers in milliseconds; one that is busy has been seen to take
// seconds, and one that takes longer is not worth waiting for, as the next pass asks again.
const (
	// askTimeout bounds a question about one thing.
	askTimeout = 10 * time.Second

	// listTimeout bounds a listing. containerd lists 2,000 images in 20 ms.
	listTimeout = 30 * time.Second

	// usesTimeout bounds all the calls that one Uses makes: on a node with 250 containers that is 502 at the first time.
	usesTimeout = time.Minute

	// filesystemTimeout is longer, because CRI-O walks through its whole store.
	filesystemTimeout = time.Minute

	// removeTimeout is longer than the kubelet's 2 minutes. The runtime unlinks each file of each layer meanwhile, and to
	// give up on a removal does not stop it reliably, but can leave an image behind that has no names.
	removeTimeout = 3 * time.Minute
)

// ErrAnswer is what an answer that must not be believed is: nothing follows from it, also not from its other parts.
var ErrAnswer = errors.New("unexpected response from the container runtime")

// ErrNotFullID is why nothing was removed by a tag or a short ID.
var ErrNotFullID = errors.New("not a full image ID")

// Code is what kind of error it is, in one word for a metric: OK for none, the name of the gRPC code, BadAnswer for
// ErrAnswer and NotFullID for ErrNotFullID. The set of words is small and fixed.
func Code(err error) string {
	switch {
	case errors.Is(err, ErrAnswer):
		return "BadAnswer"
	case errors.Is(err, ErrNotFullID):
		return "NotFullID"
	}
	var known interface{ GRPCStatus() *status.Status }
	if err != nil && !errors.As(err, &known) {
		return status.FromContextError(unwrapContext(err)).Code().String()
	}
	code := status.Code(err)
	if code > codes.Unauthenticated {
		code = codes.Unknown // a code nobody has defined, of which there are four billion
	}
	return code.String()
}

// unwrapContext is the error of the context that err wraps, or err.
func unwrapContext(err error) error {
	for _, of := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, of) {
			return of
		}
	}
	return err
}

// ask makes one call, which is over by its deadline. name is the call's, for the error.
func ask[Q, A any](ctx context.Context, r *Runtime, limit time.Duration, name string,
	call func(context.Context, Q, ...grpc.CallOption) (A, error), question Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit(limit))
	defer cancel()
	answer, err := call(ctx, question)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return answer, err
}

// limit is how long a call may take for which own is meant.
func (r *Runtime) limit(own time.Duration) time.Duration {
	if r.opts.Timeout > 0 {
		return r.opts.Timeout
	}
	return own
}

// isNotFound reports whether the runtime does not have what it was asked about.
func isNotFound(err error) bool { return status.Code(err) == codes.NotFound }

// badAnswer is an ErrAnswer with what is wrong.
func badAnswer(call, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", call, ErrAnswer, fmt.Sprintf(format, args...))
}

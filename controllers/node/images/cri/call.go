// SPDX-License-Identifier: Apache-2.0

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

// Timeouts of the calls. A healthy runtime answers in milliseconds, and a busy one may take seconds. A longer wait is not
// useful, because the next snapshot sends the request again.
const (
	// askTimeout bounds a request about one object.
	askTimeout = 10 * time.Second

	// listTimeout bounds a list request. containerd lists 2,000 images in 20 ms.
	listTimeout = 30 * time.Second

	// usesTimeout bounds all the calls of one Uses. On a node with 250 containers these are 502 calls the first time.
	usesTimeout = time.Minute

	// filesystemTimeout is longer, because CRI-O walks through its whole store.
	filesystemTimeout = time.Minute

	// RemoveTimeout limits a RemoveImage request, which does not end with its caller. It is longer than the kubelet's 2 minutes. The runtime unlinks each file of each layer. To cancel a removal
	// does not stop it reliably, and can leave an image without names behind.
	RemoveTimeout = 3 * time.Minute
)

// ErrAnswer is the error for an invalid response. No part of such a response is used.
var ErrAnswer = errors.New("unexpected response from the container runtime")

// ErrNotFullID is the error for a tag or a short ID in place of a full image ID. Nothing was removed.
var ErrNotFullID = errors.New("not a full image ID")

// Code returns the kind of an error as one word for a metric: OK for nil, BadAnswer for ErrAnswer, NotFullID for ErrNotFullID,
// or else the name of the gRPC code. The set of words is small and fixed.
func Code(err error) string {
	switch {
	case errors.Is(err, ErrAnswer):
		return "BadAnswer"
	case errors.Is(err, ErrNotFullID):
		return "NotFullID"
	}
	code := status.Code(err)
	switch {
	case code == codes.Unknown:
		code = status.FromContextError(err).Code() // also Unknown, unless err wraps an error of a context
	case code > codes.Unauthenticated:
		code = codes.Unknown // an undefined code, of which there are four billion
	}
	return code.String()
}

// ask makes one call with a deadline. name is the name of the call, for the error.
func ask[Q, A any](ctx context.Context, r *Runtime, limit time.Duration, name string,
	call func(context.Context, Q, ...grpc.CallOption) (A, error), question Q, options ...grpc.CallOption) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit(limit))
	defer cancel()
	answer, err := call(ctx, question, options...)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return answer, err
}

// limit returns the timeout of a call with the default timeout own.
func (r *Runtime) limit(own time.Duration) time.Duration {
	if r.opts.Timeout > 0 {
		return r.opts.Timeout
	}
	return own
}

// isNotFound reports whether the runtime does not have the requested object.
func isNotFound(err error) bool { return status.Code(err) == codes.NotFound }

// badAnswer returns an ErrAnswer with its cause.
func badAnswer(call, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", call, ErrAnswer, fmt.Sprintf(format, args...))
}

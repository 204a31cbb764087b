// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Options configures the connection to a runtime. The zero value is right for every runtime that reports its sandbox image.
type Options struct {
	// SandboxImage is the image of every Pod's sandbox, also called the pause image, in addition to the one that the runtime
	// reports. If it is set, a runtime that reports none is not an error.
	SandboxImage string

	// Timeout replaces the timeout of every call. Zero means the default of each call; only tests need another.
	Timeout time.Duration
}

// Runtime is a container runtime on this node. It is safe for concurrent use.
type Runtime struct {
	opts    Options
	conn    *grpc.ClientConn
	images  runtimeapi.ImageServiceClient
	runtime runtimeapi.RuntimeServiceClient

	mu   sync.Mutex
	seen memory // the immutable part of containers and sandboxes
}

const (
	// maxAnswer is the maximum size of a response in bytes, as in the kubelet: room for more than 100,000 images. A longer
	// response is an error.
	maxAnswer = 16 << 20

	// maxSocketPath is the maximum length of a socket path in the kernel (sockaddr_un).
	maxSocketPath = 107

	// retryFirst and retryAtMost are the first and the longest backoff while the runtime is unreachable, as in the kubelet.
	retryFirst, retryAtMost = 100 * time.Millisecond, 3 * time.Second

	// connectTimeout bounds one attempt to connect. A local socket answers at once, or no process listens on it.
	connectTimeout = 5 * time.Second
)

// Dial returns the runtime behind a unix socket. endpoint is a path or a URL such as unix:///run/containerd/containerd.sock, as
// for the kubelet and crictl. The runtime need not listen yet: until then calls return errors. The caller closes the Runtime.
func Dial(endpoint string, o Options) (*Runtime, error) {
	path, err := socket(endpoint)
	if err != nil {
		return nil, err
	}
	// The path is not part of the target, which is a URL. Servers expect this authority on a socket.
	conn, err := grpc.NewClient("passthrough:///runtime",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}),
		grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryAtMost},
			MinConnectTimeout: connectTimeout,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("runtime endpoint %q: %w", endpoint, err)
	}
	return &Runtime{
		opts:    o,
		conn:    conn,
		images:  runtimeapi.NewImageServiceClient(conn),
		runtime: runtimeapi.NewRuntimeServiceClient(conn),
	}, nil
}

// socket returns the path of the socket that an endpoint names.
func socket(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("runtime endpoint %q: want an absolute path or a URL such as unix:///run/containerd/containerd.sock", endpoint)
	}
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("runtime endpoint %q: the path of a socket must not be longer than %d bytes", endpoint, maxSocketPath)
	}
	return path, nil
}

// Close closes the connection and ends every call in flight.
func (r *Runtime) Close() error { return r.conn.Close() }

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

// Options says how a runtime is spoken to. The zero value is right for every runtime that tells its sandbox image.
type Options struct {
	// SandboxImage is the image of every Pod's sandbox, also called the pause image, in addition to what the runtime
	// tells. With it a runtime that does not tell is no error.
	SandboxImage string

	// Timeout replaces the deadline of every call. Zero leaves each its own; only tests need another.
	Timeout time.Duration
}

// Runtime is a container runtime on this node. It is safe for concurrent use.
type Runtime struct {
	opts    Options
	conn    *grpc.ClientConn
	images  runtimeapi.ImageServiceClient
	runtime runtimeapi.RuntimeServiceClient

	mu   sync.Mutex
	seen memory // what never changes in containers and sandboxes
}

const (
	// maxAnswer is the longest answer that is read, as in the kubelet: 100,000 images and more. A longer one is an error.
	maxAnswer = 16 << 20

	// maxSocketPath is what the kernel has room for (sockaddr_un).
	maxSocketPath = 107

	// While the runtime is away it is tried again at least so often, as in the kubelet.
	retryFirst, retryAtMost = 100 * time.Millisecond, 3 * time.Second

	// connectTimeout bounds one attempt to connect. A socket of this machine answers at once or is not served.
	connectTimeout = 5 * time.Second
)

// Dial returns the runtime behind a unix socket, named as the kubelet and crictl name it, unix:///run/containerd/containerd.sock,
// or by its path. Nobody has to listen there yet: calls are errors until somebody does. The caller closes it.
func Dial(endpoint string, o Options) (*Runtime, error) {
	path, err := socket(endpoint)
	if err != nil {
		return nil, err
	}
	// The path stays out of the target, which is a URL; the authority is what servers expect on a socket.
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

// socket is the path of the socket that an endpoint names.
func socket(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("runtime endpoint %q: want unix:///path/of/the.sock, or that path", endpoint)
	}
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("runtime endpoint %q: the path of a socket has at most %d bytes", endpoint, maxSocketPath)
	}
	return path, nil
}

// Close ends the connection and every call that is under way.
func (r *Runtime) Close() error { return r.conn.Close() }

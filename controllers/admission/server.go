// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// Path is the path of the webhook.
const Path = "/review"

// Serving says where the webhook is served, and where its certificate comes from. The zero value disables the webhook.
type Serving struct {
	Address string // HOST:PORT or :PORT; empty or "0" disables the webhook
	CertDir string // contains tls.crt and tls.key of the mounted Secret

	// Secret is the name of the Secret in Sunset's namespace to which Sunset writes its own certificate, which it renews in time. If
	// empty, another program such as cert-manager provides the files in CertDir and the caBundle.
	Secret        string
	Service       string // in Sunset's namespace; the certificate is for its DNS name
	Configuration string // the ValidatingWebhookConfiguration to which Sunset writes the caBundle
}

// Enabled reports whether the webhook is enabled.
func (s Serving) Enabled() bool { return s.Address != "" && s.Address != "0" }

// Check returns an error if the address is invalid.
func (s Serving) Check() error {
	_, err := s.server()
	return err
}

func (s Serving) server() (webhook.Server, error) {
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", port, err)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: int(number), CertDir: s.CertDir}), nil
}

// Server serves a handler on every replica, whether it is the leader or not. After an error it retries. It never stops the
// manager in which it runs.
type Server struct {
	Serving
	Rest      *rest.Config
	Scheme    *runtime.Scheme
	Namespace string // of Sunset
	Handler   admission.Handler
	Clock     clock.Clock

	serving atomic.Pointer[webhook.Server] // nil while it is not started
}

// NeedLeaderElection returns false: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// againAfter is the first delay of the backoff after an error, such as a missing certificate. againAtMost is the longest delay,
// because each retry adds metrics. The backoff is reset after the webhook was served for longer than againAtMost.
const againAfter, againAtMost = 10 * time.Second, 10 * time.Minute

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	retries := wait.Backoff{Duration: againAfter, Factor: 2, Steps: 7, Cap: againAtMost}
	delay := retries.DelayWithReset(s.Clock, againAtMost)
	for ctx.Err() == nil {
		err, again := s.serve(ctx), delay()
		if err != nil {
			log.FromContext(ctx).Error(err, "webhook not served; retrying", "after", again)
		}
		wake.Sleep(ctx, s.Clock, again)
	}
	return nil
}

// Ready is a health check: nil while the webhook is served.
func (s *Server) Ready(r *http.Request) error {
	server := s.serving.Load()
	if server == nil {
		return errors.New("the webhook is not served yet")
	}
	return (*server).StartedChecker()(r)
}

// serve runs a separate manager, because the rotator stops its manager after an error.
func (s *Server) serve(ctx context.Context) error {
	defer s.serving.Store(nil)
	server, err := s.server()
	if err != nil {
		return err
	}
	mgr, err := manager.New(s.Rest, manager.Options{
		Scheme:                 s.Scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		WebhookServer:          server,

		GracefulShutdownTimeout: ptr.To(answerWithin), // reviews take no longer, and the leader's deletions wait for the shutdown
	})
	if err != nil {
		return err
	}
	certified, err := s.certify(ctx, mgr)
	if err != nil {
		return fmt.Errorf("manage the webhook certificate: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-certified:
			mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: s.Handler}) // GetWebhookServer starts the server
			s.serving.Store(&server)
		}
		return nil
	})); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

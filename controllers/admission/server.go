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
)

// Path is where the webhook is served.
const Path = "/review"

// Serving is where the webhook is served and where its certificate comes from. The zero value means not at all.
type Serving struct {
	Address string // HOST:PORT or :PORT; empty or "0" for nowhere
	CertDir string // has tls.crt and tls.key, of the mounted Secret

	// Secret, of Sunset's namespace, is given a certificate of our own, which is renewed in time. Empty means that
	// somebody else, cert-manager perhaps, keeps what is in CertDir and the caBundle.
	Secret        string
	Service       string // of Sunset's namespace: the certificate is for its name
	Configuration string // the ValidatingWebhookConfiguration that is given the caBundle
}

// Enabled reports whether there is a webhook.
func (s Serving) Enabled() bool { return s.Address != "" && s.Address != "0" }

// Check says what cannot be.
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

// Server serves a handler on every replica, leader or not. What keeps it from serving is tried again: it never ends the
// manager it runs in.
type Server struct {
	Serving
	Rest      *rest.Config
	Scheme    *runtime.Scheme
	Namespace string // Sunset's own
	Handler   admission.Handler
	Clock     clock.Clock

	serving atomic.Pointer[served]
}

// served is a server that has been started.
type served struct{ webhook.Server }

// NeedLeaderElection says that every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// againAfter is how long to wait after trouble, such as a certificate that is not there yet, and againAtMost after the same trouble
// again and again: each try adds metrics. What was served for longer than that has forgotten it.
const againAfter, againAtMost = 10 * time.Second, 10 * time.Minute

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	retries := wait.Backoff{Duration: againAfter, Factor: 2, Steps: 7, Cap: againAtMost}
	delay := retries.DelayWithReset(s.Clock, againAtMost)
	for ctx.Err() == nil {
		err, again := s.serve(ctx), delay()
		if err != nil {
			log.FromContext(ctx).Error(err, "webhook not served; trying again", "after", again)
		}
		select {
		case <-ctx.Done():
		case <-s.Clock.After(again):
		}
	}
	return nil
}

// Ready is a health check: nil while the webhook is served.
func (s *Server) Ready(r *http.Request) error {
	server := s.serving.Load()
	if server == nil {
		return errors.New("the webhook is not served yet")
	}
	return server.StartedChecker()(r)
}

// serve runs a manager of its own, because the rotator ends the one it runs in when it has trouble.
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

		GracefulShutdownTimeout: ptr.To(answerWithin), // no review takes longer, and the leader's deletions wait for the end
	})
	if err != nil {
		return err
	}
	certified, err := s.certify(ctx, mgr)
	if err != nil {
		return fmt.Errorf("keep a certificate: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-certified:
			mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: s.Handler}) // which starts it
			s.serving.Store(&served{server})
		}
		return nil
	})); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers"
	"github.com/sunset-k8s/sunset/policy"
)

// options are the flags as given.
type options struct {
	kubeconfig string
	allowKinds []string
	protected  []string
	config     controllers.Config
	log        zap.Options
}

// parse reads the flags and sets up logging. pflag.ErrHelp says that help was asked for and given.
func parse(args []string) (controllers.Config, error) {
	o := options{config: controllers.Config{Namespace: "sunset-system"}}
	if err := program.Parse(o.flags(), args, &o.log); err != nil {
		return controllers.Config{}, err
	}
	return o.complete()
}

func (o *options) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("sunset-controller", pflag.ContinueOnError)
	c := &o.config
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; without one the service account of the Pod is used")
	f.StringVar(&c.Namespace, "namespace", c.Namespace, "Sunset's own namespace: it holds the lease and no policy touches it")
	f.BoolVar(&c.Election.Enabled, "leader-elect", true, "let replicas agree on one leader; only the leader deletes")
	f.DurationVar(&c.Election.LeaseDuration, "leader-elect-lease-duration", 0, "how long a leader that is silent stays one (default 15s)")
	f.DurationVar(&c.Election.RenewDeadline, "leader-elect-renew-deadline", 0, "how long a leader tries to renew before it stops (default 10s)")
	f.DurationVar(&c.Election.RetryPeriod, "leader-elect-retry-period", 0, "how long to wait between tries (default 2s)")
	f.StringSliceVar(&o.allowKinds, "allow-kinds", nil, "protected kinds, or kinds of aggregated APIs, that policies may target: Kind or Kind.group")
	f.StringSliceVar(&o.protected, "protected-namespaces", []string{"kube-system", "kube-public", "kube-node-lease"},
		"namespaces that no policy touches, beside Sunset's own")
	f.IntVar(&c.MaxInFlight, "max-in-flight", 16, "DELETE requests under way at a time, in all, though each kind may always have one; fewer while the API server is busy")
	f.Float64Var(&c.MaxPerSecond, "max-deletions-per-second", 0, "deletions a second; 0 means as fast as the API server allows")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", `where metrics are served; "0" for nowhere`)
	f.BoolVar(&c.MetricsSecure, "metrics-secure", false, "serve metrics over HTTPS, to whom the API server knows and lets, and Go profiles with them")
	f.StringVar(&c.MetricsCertDir, "metrics-cert-dir", "", "where tls.crt and tls.key for metrics are mounted; without them a certificate is made at each start")
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", `where /healthz and /readyz are served; "0" for nowhere`)
	f.StringVar(&c.PprofAddress, "pprof-bind-address", "", "where Go profiles are served to everybody; nowhere by default")
	f.StringVar(&c.Webhook.Address, "webhook-bind-address", "", "where policies are reviewed before they are stored, such as :9443; nowhere by default")
	f.StringVar(&c.Webhook.CertDir, "webhook-cert-dir", "/etc/sunset/webhook", "where tls.crt and tls.key of the webhook are mounted")
	f.StringVar(&c.Webhook.Secret, "webhook-secret", "sunset-webhook",
		"Secret in Sunset's namespace that is given a certificate, renewed in time; empty if somebody else keeps it")
	f.StringVar(&c.Webhook.Service, "webhook-service", "sunset-webhook", "Service in Sunset's namespace that the certificate is for")
	f.StringVar(&c.Webhook.Configuration, "webhook-configuration", "sunset", "ValidatingWebhookConfiguration that is given the certificate's authority")
	program.AddLogFlags(f, &o.log)
	return f
}

func (o *options) complete() (controllers.Config, error) {
	c := o.config
	c.Clock = clock.RealClock{}
	c.Protection = policy.Protection{Namespaces: o.protected}
	var err error
	if c.Protection.AllowKinds, err = controllers.ParseKinds(o.allowKinds); err != nil {
		return c, fmt.Errorf("--allow-kinds: %w", err)
	}
	if c.Rest, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
		return c, fmt.Errorf("no API server: %w", err)
	}
	c.Rest.UserAgent = "sunset-controller"
	host, err := os.Hostname()
	c.Identity = host + "_" + string(uuid.NewUUID())
	return c, err
}

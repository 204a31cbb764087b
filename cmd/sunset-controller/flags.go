package main

import (
	"math"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers"
	"github.com/sunset-k8s/sunset/controllers/features"
	"github.com/sunset-k8s/sunset/policy"
)

// options are the settings as given.
type options struct {
	*program.Flags
	gates      features.Gates
	allowKinds []string
	protected  []string
	config     controllers.Config
}

// parse reads the settings and sets up logging. program.ErrAnswered says that there is nothing to run.
func parse(args []string) (controllers.Config, error) {
	o := newOptions()
	if err := o.Parse(args); err != nil {
		return controllers.Config{}, err
	}
	if err := o.check(); err != nil {
		return controllers.Config{}, err
	}
	return o.complete()
}

func newOptions() *options {
	o := &options{
		Flags:  program.NewFlags("sunset-controller", "ControllerConfig"),
		gates:  features.New(),
		config: controllers.Config{Namespace: "sunset-system"},
	}
	f, c := o.Flags, &o.config
	f.AddGates(o.gates)
	f.BoolVar(&c.DryRun, "dry-run", false, "judge, count and forecast as ever, but delete and mark nothing: what policies enforce counts as a dry run")
	f.StringVar(&c.Namespace, "namespace", c.Namespace, "Sunset's own namespace: it holds the lease and no policy touches it")
	f.BoolVar(&c.Election.Enabled, "leader-elect", true, "let replicas agree on one leader; only the leader deletes")
	f.DurationVar(&c.Election.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long a leader that is silent stays one")
	f.DurationVar(&c.Election.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew before it stops")
	f.DurationVar(&c.Election.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "how long to wait between tries")
	f.StringSliceVar(&o.allowKinds, "allow-kinds", nil, "protected kinds, or kinds of aggregated APIs, that policies may target: Kind or Kind.group")
	f.StringSliceVar(&o.protected, "protected-namespaces", []string{"kube-system", "kube-public", "kube-node-lease"},
		"namespaces that no policy touches, beside Sunset's own")
	f.IntVar(&c.MaxInFlight, "max-in-flight", 16, "DELETE requests under way at a time, in all, though each kind may always have one; fewer while the API server is busy. Requests longer than 250ms and those of throttled namespaces are counted apart")
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
	return o
}

// mostJitter is how much longer than its period client-go may wait between two tries.
const mostJitter = leaderelection.JitterFactor

// check says what of the settings cannot be used, whatever the cluster is like.
func (o *options) check() error {
	c, e := o.config, o.config.Election
	perSecond := c.MaxPerSecond
	return o.Check(
		program.Namespaces("namespace", c.Namespace),
		program.Namespaces("protected-namespaces", o.protected...),
		program.Demand{Setting: "leader-elect-lease-duration", Holds: e.LeaseDuration > e.RenewDeadline, Want: "more than leader-elect-renew-deadline"},
		program.Demand{Setting: "leader-elect-lease-duration", Holds: e.LeaseDuration%time.Second == 0, Want: "whole seconds"}, // the rest is not written
		program.Demand{Setting: "leader-elect-renew-deadline", Holds: float64(e.RenewDeadline) > mostJitter*float64(e.RetryPeriod),
			Want: "more than 1.2 times leader-elect-retry-period"},
		program.Demand{Setting: "leader-elect-retry-period", Holds: e.RetryPeriod > 0, Want: "more than nothing"},
		program.Demand{Setting: "max-in-flight", Holds: c.MaxInFlight > 0, Want: "at least 1"},
		program.Demand{Setting: "max-deletions-per-second", Holds: perSecond >= 0 && !math.IsInf(perSecond, 0), Want: "a number from 0 on"},
		program.Address("metrics-bind-address", c.MetricsAddress),
		program.Address("health-probe-bind-address", c.ProbeAddress),
		program.Address("pprof-bind-address", c.PprofAddress),
		program.Address("webhook-bind-address", c.Webhook.Address),
	)
}

func (o *options) complete() (controllers.Config, error) {
	c := o.config
	c.Clock = clock.RealClock{}
	c.Protection = policy.Protection{Namespaces: o.protected, Off: features.Off(o.gates)}
	var err error
	if c.Protection.AllowKinds, err = controllers.ParseKinds(o.allowKinds); err != nil {
		return c, o.Wrong("allow-kinds", err)
	}
	if c.Rest, err = o.Connect(); err != nil {
		return c, err
	}
	host, err := os.Hostname()
	c.Identity = host + "_" + string(uuid.NewUUID())
	return c, err
}

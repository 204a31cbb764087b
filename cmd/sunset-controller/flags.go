// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/tracing"
	"github.com/sunset-k8s/sunset/policy"
)

// options holds the settings from the command line and the configuration file.
type options struct {
	*program.Flags
	gates      features.Gates
	allowKinds []string
	protected  []string
	prices     []string
	currency   string
	config     manager.Config
}

// parse reads the settings and sets up logging. It returns program.ErrAnswered if there is nothing to run.
func parse(args []string) (manager.Config, error) {
	o := newOptions()
	if err := o.Parse(args); err != nil {
		return manager.Config{}, err
	}
	if err := o.check(); err != nil {
		return manager.Config{}, err
	}
	return o.complete()
}

func newOptions() *options {
	o := &options{
		Flags:  program.NewFlags("sunset-controller", "ControllerConfig"),
		gates:  features.New(),
		config: manager.Config{Namespace: "sunset-system"},
	}
	f, c := o.Flags, &o.config
	f.AddGates(o.gates)
	f.AddAudit(&c.AuditRecords)
	f.BoolVar(&c.DryRun, "dry-run", false, "evaluate policies and update their status, but do not delete or mark any object; policies in mode Enforce act as dry runs")
	f.StringVar(&c.Namespace, "namespace", c.Namespace, "namespace of Sunset, which contains the Lease; policies never delete objects in it")
	f.BoolVar(&c.Election.Enabled, "leader-elect", true, "elect a leader among the replicas; only the leader deletes objects")
	f.DurationVar(&c.Election.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "time that other replicas wait after the last renewal of the Lease before they acquire it; must be whole seconds")
	f.DurationVar(&c.Election.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "time that the leader retries to renew the Lease before it stops; must be shorter than the lease duration, and longer than 1.2 times the retry period")
	f.DurationVar(&c.Election.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between two attempts to acquire or renew the Lease")
	f.BoolVar(&c.WarmStandby, "warm-standby", true, "watch objects on replicas that do not lead, so that a new leader deletes within seconds; each replica then needs the memory and the watches of the leader")
	f.StringSliceVar(&o.allowKinds, "allow-kinds", nil, "protected kinds, and kinds of aggregated APIs, that policies may target: Kind or Kind.group")
	f.StringSliceVar(&o.protected, "protected-namespaces", []string{"kube-system", "kube-public", "kube-node-lease"},
		"namespaces in which policies never delete objects, in addition to the namespace of Sunset; replaces the default")
	f.IntVar(&c.MaxInFlight, "max-in-flight", 16, "maximum number of concurrent DELETE requests for all kinds together; each kind may always have one. The controller lowers the number while the API server is busy. Requests that take longer than 250ms and requests in throttled namespaces do not count")
	f.Float64Var(&c.MaxPerSecond, "max-deletions-per-second", 0, "maximum number of deletions per second for all kinds together; 0 means no maximum")
	f.StringSliceVar(&o.prices, "prices", nil, "prices of a GiB of storage for a month, as KIND[.GROUP][/CLASS]=PRICE, such as PersistentVolumeClaim/fast=0.17; without the class, it applies to all other classes")
	f.StringVar(&o.currency, "currency", "", "currency of the prices, such as EUR")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", `address of the metrics endpoint; "0" disables it`)
	f.BoolVar(&c.MetricsSecure, "metrics-secure", false, "serve metrics and Go profiles over HTTPS, to authenticated and authorized clients only")
	f.StringVar(&c.MetricsCertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for the metrics endpoint; if empty, the controller generates a self-signed certificate at each start")
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", `address of the health probe endpoints /healthz and /readyz; "0" disables them`)
	f.StringVar(&c.PprofAddress, "pprof-bind-address", "", "address of an endpoint for Go profiles without authentication; disabled by default")
	f.StringVar(&c.Webhook.Address, "webhook-bind-address", "", "address of the validating admission webhook for policies, such as :9443; disabled by default")
	f.StringVar(&c.Webhook.CertDir, "webhook-cert-dir", "/etc/sunset/webhook", "directory with tls.crt and tls.key for the webhook")
	f.StringVar(&c.Webhook.Secret, "webhook-secret", "sunset-webhook",
		"Secret in the namespace of Sunset in which the controller stores and renews the webhook certificate; empty if another program, such as cert-manager, manages it")
	f.StringVar(&c.Webhook.Service, "webhook-service", "sunset-webhook", "Service in the namespace of Sunset that the webhook certificate is for")
	f.StringVar(&c.Webhook.Configuration, "webhook-configuration", "sunset", "ValidatingWebhookConfiguration in which the controller sets caBundle")
	f.BoolVar(&c.OpenReports, "open-reports", false, "write what policies forecast as Reports and ClusterReports of OpenReports, whose CRDs must be installed")
	f.StringVar(&c.TracingEndpoint, "tracing-endpoint", "", "endpoint of a collector for traces of deletions, such as localhost:4317, for OTLP over gRPC without TLS; disabled by default")
	f.IntVar(&c.TracingPerMillion, "tracing-sampling-rate-per-million", tracing.MostPerMillion, "number of deletions to trace of a million")
	return o
}

// mostJitter is the factor by which client-go may extend the period between two attempts.
const mostJitter = leaderelection.JitterFactor

// check returns an error for a setting that is invalid in every cluster.
func (o *options) check() error {
	c, e := o.config, o.config.Election
	perSecond := c.MaxPerSecond
	return o.Check(
		program.Namespaces("namespace", c.Namespace),
		program.Audit(c.AuditRecords),
		program.Namespaces("protected-namespaces", o.protected...),
		program.Demand{Setting: "leader-elect-lease-duration", Holds: e.LeaseDuration > e.RenewDeadline, Want: "more than leader-elect-renew-deadline"},
		program.Demand{Setting: "leader-elect-lease-duration", Holds: e.LeaseDuration%time.Second == 0, Want: "whole seconds"}, // client-go truncates to whole seconds
		program.Demand{Setting: "leader-elect-renew-deadline", Holds: float64(e.RenewDeadline) > mostJitter*float64(e.RetryPeriod),
			Want: "more than 1.2 times leader-elect-retry-period"},
		program.Demand{Setting: "leader-elect-retry-period", Holds: e.RetryPeriod > 0, Want: "more than 0s"},
		program.Demand{Setting: "max-in-flight", Holds: c.MaxInFlight > 0, Want: "at least 1"},
		program.Demand{Setting: "max-deletions-per-second", Holds: perSecond >= 0 && !math.IsInf(perSecond, 0), Want: "a number, 0 or more"},
		program.Address("metrics-bind-address", c.MetricsAddress),
		program.Address("health-probe-bind-address", c.ProbeAddress),
		program.Address("pprof-bind-address", c.PprofAddress),
		program.Address("webhook-bind-address", c.Webhook.Address),
		program.Demand{Setting: "tracing-sampling-rate-per-million", Holds: c.TracingPerMillion >= 0 && c.TracingPerMillion <= tracing.MostPerMillion, Want: "0 to 1000000"},
	)
}

func (o *options) complete() (manager.Config, error) {
	c := o.config
	c.Clock = clock.RealClock{}
	c.Protection = policy.Protection{Namespaces: o.protected, Off: features.Off(o.gates)}
	if err := tracing.Check(c.TracingEndpoint); err != nil {
		return c, o.Wrong("tracing-endpoint", err)
	}
	var err error
	if c.Protection.AllowKinds, err = manager.ParseKinds(o.allowKinds); err != nil {
		return c, o.Wrong("allow-kinds", err)
	}
	if c.Prices, err = policy.ParsePrices(o.currency, o.prices); err != nil {
		return c, o.Wrong("prices", err)
	}
	if c.Rest, err = o.Connect(); err != nil {
		return c, err
	}
	host, err := os.Hostname()
	c.Identity = host + "_" + string(uuid.NewUUID())
	return c, err
}

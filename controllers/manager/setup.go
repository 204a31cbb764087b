// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/tracing"
	"github.com/sunset-k8s/sunset/controllers/reports"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Config is the configuration of a controller, from its flags.
type Config struct {
	Rest  *rest.Config                        // how to reach the API server; its client-side rate limits are ignored
	Clock clock.WithTickerAndDelayedExecution // the real clock outside of tests

	Namespace  string // of Sunset; it is protected, and contains the lease. Empty means "sunset-system"
	Identity   string // of this process in leader election; unique
	Election   Election
	Protection policy.Protection // DefaultProtection unless flags change it; Namespace is added

	WarmStandby bool // a replica that does not lead watches objects too, so that it deletes soon after it has become the leader

	DryRun bool // enforced policies only do a dry run: nothing is deleted or marked

	MaxInFlight  int     // limit of concurrent requests for all kinds; each kind may always have one; 0 means 16
	MaxPerSecond float64 // limit of deletions per second; 0 means as fast as the API server allows

	MetricsAddress string // "0" for none
	MetricsSecure  bool   // serve metrics and Go profiles over HTTPS to authorized clients
	MetricsCertDir string // contains tls.crt and tls.key for HTTPS; without these files, a self-signed certificate is used
	ProbeAddress   string // "0" for none
	PprofAddress   string // empty for none

	Webhook admission.Serving // the zero value disables it

	Prices *policy.Prices // of storage; nil for none

	AuditRecords string // format of audit.Writer; empty for no records

	OpenReports bool // write Reports and ClusterReports of OpenReports

	TracingEndpoint   string // of an OTLP collector; empty for no traces
	TracingPerMillion int    // number of traces to export of a million

	traces *tracing.Exporter // nil for no traces
}

// Election configures leader election. The zero value disables it: this process is the leader.
type Election struct {
	Enabled       bool
	LeaseDuration time.Duration // 0 means 15s
	RenewDeadline time.Duration // 0 means 10s; after a renewal, leadership counts for this time
	RetryPeriod   time.Duration // 0 means 2s
}

const (
	defaultNamespace = "sunset-system"
	leaseName        = "sunset-controller"

	// shutdownTime is the limit for a shutdown: first of the webhook, then of deletions in flight, ledgers and statuses. It is
	// shorter than the terminationGracePeriodSeconds of the Deployment.
	shutdownTime = 50 * time.Second
)

// NewManager returns a manager that runs Sunset when it is started. It returns an error if the configuration is invalid.
func NewManager(c Config) (manager.Manager, error) {
	c.complete()
	features.Export(metrics.SetFeature, c.Protection.Off)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	lock, err := c.lock()
	if err != nil {
		return nil, err
	}
	options := manager.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                 c.metricsServer(),
		HealthProbeBindAddress:  c.ProbeAddress,
		PprofBindAddress:        c.PprofAddress,
		MapperProvider:          newMapper,
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)}, // one process may run several managers
		LeaderElection:          c.Election.Enabled,
		LeaderElectionID:        leaseName, // for metrics; the method lock creates the lock
		LeaseDuration:           &c.Election.LeaseDuration,
		RenewDeadline:           &c.Election.RenewDeadline,
		RetryPeriod:             &c.Election.RetryPeriod,
		GracefulShutdownTimeout: ptr.To(shutdownTime),
		// The workers end before the lease is released.
		LeaderElectionReleaseOnCancel: true,
	}
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	mgr, err := manager.New(c.Rest, options)
	if err != nil {
		return nil, err
	}
	return mgr, c.add(mgr, lock)
}

func (c *Config) complete() {
	c.Rest = rest.CopyConfig(c.Rest)
	c.Rest.QPS = -1 // the API server's priority and fairness is the limit
	// As in kube-controller-manager: within a cluster, compression costs more than it saves.
	c.Rest.DisableCompression = true
	if c.traces != nil {
		c.Rest.Wrap(c.traces.Wrap)
	}
	if c.Namespace == "" {
		c.Namespace = defaultNamespace
	}
	c.Protection.Namespaces = append(slices.Clone(c.Protection.Namespaces), c.Namespace)
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.Election.LeaseDuration, 15 * time.Second}, {&c.Election.RenewDeadline, 10 * time.Second}, {&c.Election.RetryPeriod, 2 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
}

// lock returns the lock of leader election; nil without leader election.
func (c *Config) lock() (*lease.TrackedLock, error) {
	if !c.Election.Enabled {
		return nil, nil
	}
	// As in resourcelock.NewFromKubeconfig, which would use another User-Agent.
	asking := rest.CopyConfig(c.Rest)
	asking.Timeout = max(time.Second, c.Election.RenewDeadline/2) // so that one slow request does not end the leadership
	leases, err := coordinationclient.NewForConfig(asking)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
	}
	return lease.Watch(lock, c.Clock, c.Election.RenewDeadline), nil
}

// add creates and connects the control loops, and adds them to the manager.
func (c *Config) add(mgr manager.Manager, lock *lease.TrackedLock) error {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	permissionChecker, err := c.newPermissionChecker(mgr)
	if err != nil {
		return err
	}
	newPolicies := func(onStandby bool) *policyset.Reconciler {
		return &policyset.Reconciler{
			Cache: mgr.GetCache(), Compiler: compiler, Protection: c.Protection, DryRun: c.DryRun, Clock: c.Clock, Leadership: lock,
			Permissions: permissionChecker, OnStandby: onStandby,
		}
	}
	policies := newPolicies(false)
	if policies.Live, err = c.liveClient(policies); err != nil {
		return err
	}
	checker, err := c.checker()
	if err != nil {
		return err
	}
	eventWriter := status.NewEventWriter(mgr.GetClient(), c.Clock)
	rulePublisher, reportCollector, err := c.nodes(mgr, lock)
	if err != nil {
		return err
	}
	uses, referring, err := c.references(mgr, compiler)
	if err != nil {
		return err
	}
	reporter := &status.Reporter{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(), Events: eventWriter, Clock: c.Clock, Warnings: checker.Warnings,
		Permissions: permissionChecker.Known, Gates: policies, Nodes: reportCollector, NodeRules: rulePublisher, References: uses, Referrers: referring,
		Leadership: lock, DeletionError: policies.DeletionError, MaxPerSecond: c.MaxPerSecond, Prices: c.Prices,
	}
	deletions, statuses := liveness.New("deletions", c.Clock), liveness.New("statuses", c.Clock)
	reporter.Heartbeat = statuses
	checker.Changed, rulePublisher.Changed = reporter.Changed, reporter.Changed
	cluster, err := kube.New(kube.Options{
		Config: c.Rest, HTTP: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Clock: c.Clock, Compiler: compiler,
		Protection: c.Protection, References: uses,
	})
	if err != nil {
		return err
	}
	ledgerManager := ledgers.New(ledgers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Objects: cluster, Leadership: lock, Clock: c.Clock, Identity: c.Identity,
	})
	optional, err := c.optionalCache(mgr)
	if err != nil {
		return err
	}
	archiveManager, err := c.archives(mgr, optional, lock)
	if err != nil {
		return err
	}
	reconciler := retention.New(retention.Options{ // one Sources and one Remover serve all kinds: docs/contributing/extending.md
		Sources: cluster, Remover: cluster, Live: policies, Ledger: ledgerManager, Archive: archiveManager, Clock: c.Clock, Observer: metrics.Observer{Next: reporter, Prices: c.Prices},
		Audit:       c.audit().Write,
		MaxInFlight: c.MaxInFlight, MaxPerSecond: c.MaxPerSecond, Tracer: c.traces.Tracer(retention.TracerName),
		IgnoreKind: func(kind schema.GroupKind) bool { return kind == v1alpha1.ImageKind.GroupKind() }, Heartbeat: deletions,
	})
	check := func(ctx context.Context) error {
		_, err := policies.Check(ctx, "")
		return err
	}
	ledgerManager.Decider = ledgers.Decider{
		Known: reconciler.Known, Changed: reporter.Changed, Stopped: archiveManager.Done(), Check: check, Archives: archiveManager,
	}
	archiveManager.Decider = archives.Decider{Expected: reconciler.Expected, Stopped: reconciler.Done(), Check: check}
	reporter.State, reporter.Ledgers, reporter.Archives = reconciler, ledgerManager, archiveManager
	discover, err := c.discover(mgr)
	if err != nil {
		return err
	}
	permissionLoop := &permissions.Refresher{Checker: permissionChecker, Rules: policies.OwnRules, Discover: discover, Changed: policies.Republish}
	if c.warm() {
		policies.Standby = newPolicies(true)
		if err := c.addStandby(mgr, policies, reconciler, referring, permissionLoop); err != nil {
			return err
		}
	}
	policies.Subscribers = []func(policyset.CompiledSnapshot){
		reporter.Use, // before the first deletion of a new policy
		func(s policyset.CompiledSnapshot) { archiveManager.Use(s.Snapshot) },
		func(s policyset.CompiledSnapshot) { ledgerManager.Use(s.Snapshot) },
		// The next is before the deletion of an object that a new kind of referrers may need.
		func(s policyset.CompiledSnapshot) { referring.Use(s.References, s.Asked, s.InvalidReferences...) },
		func(s policyset.CompiledSnapshot) { reconciler.Use(s.Snapshot, s.Programs) },
		func(policyset.CompiledSnapshot) { reporter.CountSoon() },
		func(s policyset.CompiledSnapshot) { rulePublisher.Use(s.Snapshot) },
		func(s policyset.CompiledSnapshot) { reportCollector.Use(s.Snapshot) },
		checker.Use,
		func(policyset.CompiledSnapshot) { permissionLoop.Refresh() },
	}
	notifier := digests.New(digests.Options{
		Cache: optional, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), State: reconciler, Complete: policies.Complete, Leadership: lock,
		Clock: c.Clock, Namespace: c.Namespace, Prices: c.Prices,
	})
	runnables := []manager.Runnable{
		reconciler, ledgerManager, archiveManager, reporter, eventWriter, checker, permissionLoop, referring, rulePublisher, reportCollector, notifier,
	}
	if c.OpenReports {
		writer := reports.New(reports.Options{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), State: reconciler, Ledgers: ledgerManager, Complete: policies.Complete,
			Leadership: lock, Clock: c.Clock,
		})
		policies.Subscribers = append(policies.Subscribers, func(s policyset.CompiledSnapshot) { writer.Use(s.Snapshot) })
		runnables = append(runnables, writer)
	}
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	if err := c.addWebhook(mgr); err != nil {
		return err
	}
	if err := c.addHealth(mgr, &readiness{lock: lock, complete: policies.Complete, began: reconciler.Began}, deletions, statuses); err != nil {
		return err
	}
	return policies.Setup(mgr)
}

// Run starts a manager. It returns when ctx has ended and all work in flight is finished.
func Run(ctx context.Context, c Config) error {
	if err := c.startTracing(ctx); err != nil {
		return err
	}
	defer c.traces.Stop()
	mgr, err := NewManager(c)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Config is the configuration of an agent, from its flags.
type Config struct {
	Rest  *rest.Config
	Clock clock.WithTickerAndDelayedExecution // the real clock outside of tests

	Node         string        // name of the node
	Endpoint     string        // CRI endpoint of the container runtime, in the kubelet's format
	SandboxImage string        // sandbox image of Pods, if the runtime does not report it
	StateDir     string        // for this agent only; must survive restarts of the node
	Interval     time.Duration // between two snapshots of the node; 0 means images.DefaultInterval
	MaxInFlight  int           // maximum number of concurrent removals; 0 means that of retention.Options
	ReportEvery  time.Duration // minimum time between two reports, plus a jitter of a tenth; 0 means a minute

	AuditRecords string // format of audit.Writer; empty for no records

	Off []policy.Feature // features disabled by --feature-gates

	MetricsAddress string // "0" disables the endpoint
	ProbeAddress   string // "0" disables the endpoint
	// Metrics is the registry for the metrics of the agent; nil means the registry that the metrics endpoint serves.
	Metrics prometheus.Registerer

	registered agentMetrics // set by Run
}

// Features are the feature gates of an agent.
var Features = []policy.Feature{policy.NodeImages}

// noAddress is the address that disables an endpoint.
const noAddress = "0"

// Check returns an error for flags that are invalid on every node and in every cluster.
func (c *Config) Check() error {
	if c.Node == "" {
		return errors.New("the name of the node is missing: set --node-name or the environment variable NODE_NAME")
	}
	runtime, err := cri.Dial(c.Endpoint, cri.Options{}) // sends no request
	if err != nil {
		return err
	}
	return runtime.Close()
}

// Run starts an agent. It returns when ctx has ended and everything in flight is finished. The error says which part of the
// configuration is invalid, or what stopped the agent.
func Run(ctx context.Context, c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Interval <= 0 {
		c.Interval = images.DefaultInterval
	}
	if c.ReportEvery <= 0 {
		c.ReportEvery = reportEvery
	}
	if c.Metrics == nil {
		c.Metrics = metrics.Registry
	}
	runtime, err := cri.Dial(c.Endpoint, cri.Options{SandboxImage: c.SandboxImage})
	if err != nil {
		return err
	}
	defer func() { _ = runtime.Close() }()
	readings, err := history.NodeClock(c.Clock.Now)
	if err != nil {
		return err
	}
	kept, err := history.Open(c.StateDir, readings(), history.Options{Machine: c.Node, Gap: 2 * c.Interval, Every: c.Interval / 2})
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }()
	if err := kept.AgesReset(); err != nil {
		log.FromContext(ctx).Error(err, "image ages lost")
	}
	if c.registered, err = newAgentMetrics(c.Metrics, c.Off...); err != nil {
		return err
	}
	mgr, err := c.manager()
	if err != nil {
		return c.unreachable(err)
	}
	if err := c.add(ctx, mgr, runtime, kept, readings); err != nil {
		return c.unreachable(err)
	}
	return mgr.Start(ctx)
}

// unreachable adds the address of the API server to the error of a request that got no answer.
func (c *Config) unreachable(err error) error {
	if asked := (&url.Error{}); errors.As(err, &asked) {
		return fmt.Errorf("cannot reach the API server at %s: %w", c.Rest.Host, asked.Err)
	}
	return err
}

func (c *Config) manager() (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return manager.New(c.Rest, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Node{}: {Field: fields.OneTermEqualSelector("metadata.name", c.Node), Transform: withoutStatus},
			},
		},
		Metrics:                metricsserver.Options{BindAddress: c.MetricsAddress},
		HealthProbeBindAddress: c.ProbeAddress,
		// A removal that is interrupted can leave an image without names behind, which rules then keep.
		GracefulShutdownTimeout: ptr.To(cri.RemoveTimeout + 10*time.Second),
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)}, // one process may run several managers
	})
}

// withoutStatus removes the fields of a Node that rules do not read.
func withoutStatus(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields, node.Status = nil, corev1.NodeStatus{}
	}
	return object, nil
}

// add creates the loops and adds them to the manager.
func (c *Config) add(ctx context.Context, mgr manager.Manager, runtime *cri.Runtime, kept *history.Store, readings history.Clock) error {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	clocks := &skew.Clocks{}
	live, err := c.live(client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()}, clocks)
	if err != nil {
		return err
	}
	disk := &disk{runtime: runtime, clock: c.Clock, statfs: statfs}
	cluster := &cluster{live: live, clock: c.Clock, name: c.Node, disk: disk}
	node := images.New(images.Options{
		Runtime: runtime, Cluster: cluster, History: kept, Readings: readings, Clock: c.Clock, Compiler: compiler, Interval: c.Interval,
		Failed:      func(code string) { c.registered.failed.WithLabelValues(code).Inc() },
		PulledAgain: func(n int) { c.registered.pulledAgain.Add(float64(n)) },
	})
	if c.MetricsAddress != noAddress {
		if err := mgr.AddMetricsServerExtraHandler(debug.Path, serve(node.DebugImages, c.Clock.Now)); err != nil {
			return err
		}
	}
	removals, reports := liveness.New("removals", c.Clock), liveness.New("reports", c.Clock)
	loop := &pressureLoop{clock: c.Clock, node: node, disk: disk, metrics: c.registered, pulse: reports}
	counters := &removalCounters{summary: node.Summary, pressed: loop.pressed, metrics: c.registered}
	records := &audit.Writer{Format: c.AuditRecords, Log: log.Log.WithName(audit.LoggerName), Out: os.Stdout, Controller: c.Node, Node: c.Node, Failed: c.registered.auditErrors.Inc}
	node.Late = func(r retention.Removal) {
		records.Write(r)
		counters.Removed(r)
	}
	rules := &rules{
		live: live, clocks: clocks, clock: c.Clock, compiler: compiler, off: c.Off, labels: cluster.labels, node: cluster.confirm, bound: loop.bound,
	}
	reconciler := retention.New(retention.Options{
		Sources: node, Remover: node, Live: rules, Clock: c.Clock, Observer: counters, Audit: records.Write, MaxInFlight: c.MaxInFlight, Heartbeat: removals,
	})
	rules.publish = func(snapshot *policy.Snapshot, programs map[string]*engine.Program) {
		node.Use(programs)
		reconciler.Use(snapshot, programs)
	}
	loop.rules, loop.reconciler = rules, reconciler
	loop.reporter = &reporter{
		client: live, clock: c.Clock, cluster: cluster, node: node, history: kept, rules: rules, disk: disk, counters: counters, runtime: runtime, every: c.ReportEvery,
	}
	for _, runnable := range []manager.Runnable{reconciler, loop} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	if err := addHealth(mgr, node, rules, loop.reporter, removals, reports); err != nil {
		return err
	}
	return watch(ctx, mgr, cluster, rules)
}

// live returns a client that bypasses every cache. The clocks are compared by its responses.
func (c *Config) live(o client.Options, clocks *skew.Clocks) (client.Client, error) {
	observed := rest.CopyConfig(c.Rest)
	observed.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &skew.Observer{Next: next, Clocks: clocks, Now: c.Clock.Now, Timeout: rulesTimeout}
	})
	return client.New(observed, o)
}

// watch adds event handlers for the node and the rules.
func watch(ctx context.Context, mgr manager.Manager, cluster *cluster, rules *rules) error {
	told := &unstructured.Unstructured{}
	told.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
	for _, of := range []struct {
		object client.Object
		see    func(object any, there bool)
	}{
		{&corev1.Node{}, func(object any, there bool) {
			node, ok := object.(*corev1.Node)
			switch {
			case !ok:
			case !there:
				cluster.set(nil)
			case cluster.set(node):
				rules.Republish()
			}
		}},
		{told, func(object any, there bool) {
			u, ok := object.(*unstructured.Unstructured)
			switch {
			case !ok || u.GetName() != v1alpha1.NodeImageRulesName:
			case there:
				rules.Use(ctx, u)
			default:
				rules.Use(ctx, nil)
			}
		}},
	} {
		informer, err := mgr.GetCache().GetInformer(ctx, of.object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", of.object, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { of.see(object, true) },
			UpdateFunc: func(_, object any) { of.see(object, true) },
			DeleteFunc: func(object any) {
				if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
					object = gone.Obj
				}
				of.see(object, false)
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

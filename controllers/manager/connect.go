// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/node/hub"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/engine"
)

// references creates the index of references between objects, and the watcher that fills it.
func (c *Config) references(mgr manager.Manager, compiler *engine.Compiler) (*references.Index, *referrers.Watcher, error) {
	x := references.New(c.Clock)
	w, err := referrers.New(referrers.Options{
		Config: c.Rest, HTTP: mgr.GetHTTPClient(), Clock: c.Clock, Compiler: compiler, Index: x, OnStandby: c.warm(),
	})
	return x, w, err
}

// optionalCache creates a cache of kinds that Sunset works without. Controllers wait until the manager's cache has listed all of its kinds, so
// that a missing permission or CustomResourceDefinition of one would stop deletions.
func (c *Config) optionalCache(mgr manager.Manager) (cache.Cache, error) {
	optional, err := cache.New(c.Rest, cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, err
	}
	return optional, mgr.Add(onEveryReplica{optional.Start})
}

// archives creates the loop that records objects in archives before they are deleted.
func (c *Config) archives(mgr manager.Manager, optional client.Reader, lock *lease.TrackedLock) (*archives.Manager, error) {
	objects, err := archives.NewCluster(c.Rest, mgr.GetHTTPClient(), mgr.GetRESTMapper())
	return archives.New(archives.Options{
		Cache: optional, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Objects: objects, Leadership: lock, Clock: c.Clock,
	}), err
}

// nodes creates the loops that communicate with the agents on nodes.
func (c *Config) nodes(mgr manager.Manager, lock *lease.TrackedLock) (*hub.RulePublisher, *hub.ReportCollector, error) {
	live, err := client.NewWithWatch(c.Rest, client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, nil, err
	}
	o := hub.Options{Client: live, Clock: c.Clock, Leadership: lock}
	return &hub.RulePublisher{Options: o}, &hub.ReportCollector{Options: o}, nil
}

// liveClient returns a client without a cache. It passes the Date header of each response to the policyset.Reconciler, which
// compares the clocks.
func (c *Config) liveClient(policies *policyset.Reconciler) (rest.Interface, error) {
	live := rest.CopyConfig(c.Rest)
	live.Wrap(func(next http.RoundTripper) http.RoundTripper { return policies.ObserveDates(next) })
	live.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(live)
}

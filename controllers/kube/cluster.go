// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Cluster opens the Sources of API objects, and is their Remover. Create it with New.
type Cluster struct {
	base       *url.URL         // of the API server
	requests   *http.Client     // about single objects; does not follow redirects: a redirect is not the result of a DELETE
	rest       *rest.RESTClient // for paths of any group
	mapper     meta.RESTMapper
	clock      clock.Clock
	compiler   *engine.Compiler
	protection policy.Protection
	changes    *changes // nil if references are not tracked
	budget     evaluationBudget

	mu         sync.Mutex
	servedHere map[schema.GroupVersion]time.Time // when the API server itself was last found to serve owners of this version
}

// Options configures a Cluster. All fields except References are required. The zero Protection protects no namespace.
type Options struct {
	Config     *rest.Config
	HTTP       *http.Client
	Mapper     meta.RESTMapper // must find kinds that are added later
	Clock      clock.Clock
	Compiler   *engine.Compiler
	Protection policy.Protection // kinds of aggregated API servers are protected too
	// References knows the references between objects. When they change, rules that read them are evaluated again. If nil,
	// references are not tracked, and such rules fail. Only the Cluster may take the changes of the index.
	References *references.Index
}

// New returns a Cluster. It returns an error if the configuration is invalid.
func New(o Options) (*Cluster, error) {
	c := rest.CopyConfig(o.Config)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(c, o.HTTP)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return nil, err
	}
	requests := *o.HTTP
	requests.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cluster := &Cluster{
		base: base, requests: &requests, rest: client, mapper: o.Mapper, clock: o.Clock, compiler: o.Compiler, protection: o.Protection,
		budget: evaluationBudget{clock: o.Clock},
	}
	if o.References != nil {
		cluster.changes = newChanges(o.References)
	}
	return cluster, nil
}

// Open implements retention.Sources.
func (c *Cluster) Open(q retention.RuleSet) retention.Source {
	s := &source{cluster: c, kind: q.Kind, metadata: metadataOnly(q), rules: q}
	if c.follows(q) {
		s.reevaluator = &reevaluator{kind: q.Kind, of: references.KindOf(q.Kind.GroupKind()), clock: c.clock, changes: c.changes, budget: &c.budget, pending: newPendingObjects()}
	}
	return s
}

// follows reports whether the rules read references, and references are tracked.
func (c *Cluster) follows(q retention.RuleSet) bool { return c.changes != nil && q.ReadsReferences() }

// collection returns the path of all objects of a kind, or only of the objects in one namespace.
func collection(mapping *meta.RESTMapping, namespace string) []string {
	segments := listwatch.Root(mapping.Resource.GroupVersion())
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	return append(segments, mapping.Resource.Resource)
}

// path returns the path of one object.
func path(mapping *meta.RESTMapping, namespace, name string) []string {
	return append(collection(mapping, namespace), name)
}

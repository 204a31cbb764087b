// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	resolveEvery  = 5 * time.Second  // between attempts to resolve a kind
	discoverEvery = 15 * time.Minute // between discoveries of the kinds of the cluster, while one is not found
	deniedEvery   = 5 * time.Second  // between checks of a missing permission
	allowedEvery  = time.Minute      // between checks of a granted permission
)

// source is a retention.Source of one kind of API object.
type source struct {
	cluster *Cluster
	kind    schema.GroupVersionKind

	reevaluator *reevaluator // nil if the results depend on the objects alone

	metadata bool // the first rules need no more

	mu       sync.Mutex
	rules    retention.RuleSet
	live     *decoder            // of the current watch; nil without one
	follower *listwatch.Follower // of the current or the last watch; nil before the first one
}

// decoder returns a decoder for the current rules.
func (s *source) decoder(ctx context.Context) *decoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newDecoder(ctx)
}

// watching returns a decoder for the watch, to which SetRules passes later rules.
func (s *source) watching(ctx context.Context) *decoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = s.newDecoder(ctx)
	return s.live
}

func (s *source) newDecoder(ctx context.Context) *decoder {
	d := newDecoder(s.rules, s.cluster.compiler.NewEvaluator(ctx), &s.cluster.budget)
	d.keeps = s.reevaluator != nil
	return d
}

// SetRules implements retention.Relister. It refuses rules that read more than the metadata if the watch is metadata-only, and rules
// that read references if the source has kept nothing to evaluate again.
func (s *source) SetRules(q retention.RuleSet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metadata && !metadataOnly(q) || s.reevaluator == nil && s.cluster.follows(q) {
		return false
	}
	if s.rules = q; s.live != nil {
		s.live.setRules(q)
	}
	return true
}

// List implements retention.Relister.
func (s *source) List(ctx context.Context, namespace string, knows func(policy.Subject, *index.Columns) bool, take func([]*index.FactRow) bool) error {
	mapping, err := s.cluster.mapper.RESTMapping(s.kind.GroupKind(), s.kind.Version)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", s.kind, err)
	}
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		take(nil) // namespaces contain no cluster-scoped objects
		return nil
	}
	decoder := s.decoder(ctx)
	decoder.knows = knows
	defer decoder.close()
	list, err := s.collection(mapping, namespace, decoder).All(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("list %s in %s: %w", s.kind.Kind, namespace, err)
	case s.reevaluator != nil:
		return s.reevaluator.relist(subjectsOf(list.Items), take)
	}
	take(rowsOf(list.Items))
	return nil
}

// Confirm implements retention.Confirmer.
func (s *source) Confirm(subject policy.Subject) error {
	s.mu.Lock()
	follower := s.follower
	s.mu.Unlock()
	if follower != nil && follower.Interrupted() {
		return fmt.Errorf("the watch of %s was interrupted, and changes of other objects may be missing", s.kind.Kind)
	}
	if s.reevaluator == nil {
		return nil
	}
	s.reevaluator.reevaluate([]types.NamespacedName{{Namespace: subject.Namespace, Name: subject.Name}})
	known := s.reevaluator.changes.index
	if err := known.Behind(s.reevaluator.target(subject), subject.ResourceVersion); err != nil {
		return err
	}
	return known.Paused(s.reevaluator.of)
}

// collection returns the objects of a resource to read: all, or those of one namespace.
func (s *source) collection(mapping *meta.RESTMapping, namespace string, decoder *decoder) *listwatch.Collection {
	return &listwatch.Collection{
		Client: s.cluster.rest, Path: collection(mapping, namespace), MetadataOnly: s.metadataOnly(), Decoder: decoder,
		FieldSelector: selectorOf(s.kind), Clock: s.cluster.clock,
	}
}

// Run implements retention.Source.
func (s *source) Run(ctx context.Context, sink retention.Sink) {
	if s.reevaluator != nil {
		end := s.reevaluator.begin(ctx, sink, s.cluster.compiler)
		defer end()
	}
	var served []*metav1.APIResourceList // it is large, and only a hint needs it
	var discovered time.Time
	for ctx.Err() == nil {
		mapping, sourceErr, err := s.cluster.resolve(ctx, s.kind)
		if sourceErr != nil && sourceErr.Reason == kindNotFound {
			if now := s.cluster.clock.Now(); len(served) == 0 || now.Sub(discovered) >= discoverEvery {
				served, discovered = s.cluster.served(ctx), now
			}
			sourceErr = notServed(s.kind, served)
		}
		if err != nil {
			sourceErr = &retention.SourceError{Reason: "ListFailed", Message: err.Error()}
		}
		if sourceErr != nil {
			sink.Lost(sourceErr)
		} else {
			s.follow(ctx, mapping, sink)
		}
		wake.Sleep(ctx, s.cluster.clock, resolveEvery) // a kind that is no longer served usually still has a cached mapping
	}
}

// follow lists and watches a resource until ctx ends or the resource is no longer served.
func (s *source) follow(ctx context.Context, mapping *meta.RESTMapping, sink retention.Sink) {
	decoder := s.watching(ctx)
	defer decoder.close()
	ctx, cancel := context.WithCancel(ctx)
	var permissions sync.WaitGroup
	permissions.Go(func() { s.watchPermissions(ctx, mapping, sink, cancel) })
	defer func() { cancel(); permissions.Wait() }()

	follower := &listwatch.Follower{
		Name: s.kind.String(), Clock: s.cluster.clock, ListerWatcher: s.collection(mapping, "", decoder), Store: s.store(sink),
		Failed: func(err error) { sink.Lost(sourceErrorOf(err, mapping.Resource)) }, Pages: true,
	}
	if s.reevaluator != nil {
		follower.Begin = s.reevaluator.watching // it reports itself why it ends a watch
	}
	s.mu.Lock()
	s.follower = follower
	s.mu.Unlock()
	follower.Run(ctx)
}

// synchronizeEvery is how often Synchronize checks how far the watch has come. Without events the API server sends a bookmark
// about once a minute.
const synchronizeEvery = 100 * time.Millisecond

// Synchronize implements retention.Synchronizer.
func (s *source) Synchronize(ctx context.Context) error {
	mapping, err := s.cluster.mapper.RESTMapping(s.kind.GroupKind(), s.kind.Version)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", s.kind, err)
	}
	decoder := s.decoder(ctx)
	defer decoder.close()
	version, err := s.collection(mapping, "", decoder).Version(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", s.kind.Kind, err)
	}
	for {
		s.mu.Lock()
		follower := s.follower
		s.mu.Unlock()
		if follower != nil {
			if reached, err := follower.Reached(version); reached || err != nil {
				return err
			}
		}
		wake.Sleep(ctx, s.cluster.clock, synchronizeEvery)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// store returns the store that the reflector writes to.
func (s *source) store(sink retention.Sink) cache.ReflectorStore {
	if s.reevaluator != nil {
		return s.reevaluator
	}
	return store{sink}
}

// metadataOnly reports whether the source reads only metadata: if its first rules need no more, and always for Secrets. SetRules never
// accepts rules that need more. Rules that end do not change it, because others may come back.
func (s *source) metadataOnly() bool { return isSecret(s.kind) || s.metadata }

func metadataOnly(q retention.RuleSet) bool {
	return !slices.ContainsFunc(q.Rules(), func(r *engine.Program) bool { return !r.MetadataOnly() })
}

// watchPermissions checks the permission to delete, and the permission to patch if rules mark objects. It reports the results to the
// sink until ctx ends, and checks more often while a permission is missing. If an aggregated API server now serves the kind, or may
// because that is forbidden to read, watchPermissions reports that and ends the watch.
func (s *source) watchPermissions(ctx context.Context, mapping *meta.RESTMapping, sink retention.Sink, end func()) {
	for ctx.Err() == nil {
		if aggregated, err := s.cluster.refuseAggregated(ctx, s.kind); err == nil && aggregated != nil {
			sink.Lost(aggregated)
			end()
			return
		}
		next := allowedEvery
		if !s.deletes() {
			sink.Undeletable(nil)
		} else if !s.reportPermission(ctx, "delete", mapping, sink.Undeletable) {
			next = deniedEvery
		}
		if s.marks() && !s.reportPermission(ctx, "patch", mapping, sink.Unmarkable) {
			next = deniedEvery
		}
		wake.Sleep(ctx, s.cluster.clock, wait.Jitter(next, 0.2))
	}
}

// reportPermission checks a permission, passes the result to tell, and reports whether the permission is granted.
func (s *source) reportPermission(ctx context.Context, verb string, mapping *meta.RESTMapping, tell func(*retention.SourceError)) bool {
	sourceErr, err := s.cluster.may(ctx, verb, mapping.Resource)
	if err != nil {
		log.FromContext(ctx).V(1).Info("cannot check permission", "verb", verb, "kind", s.kind.String(), "err", err.Error())
		return false
	}
	tell(sourceErr)
	return sourceErr == nil
}

// deletes reports whether some rule deletes objects of the kind, and not only their owners.
func (s *source) deletes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.rules.Rules(), func(r *engine.Program) bool { return !r.Owns() })
}

// marks reports whether some rule marks objects.
func (s *source) marks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.rules.Rules(), (*engine.Program).Marks)
}

// Read implements retention.Source.
func (s *source) Read(ctx context.Context, subject policy.Subject, take func(*index.FactRow)) error {
	mapping, err := s.cluster.mapper.RESTMapping(s.kind.GroupKind(), s.kind.Version)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", s.kind, err)
	}
	accept := listwatch.AcceptJSON
	if s.metadataOnly() {
		accept = listwatch.AcceptMetadata
	}
	data, err := listwatch.Body(s.cluster.rest.Get().AbsPath(path(mapping, subject.Namespace, subject.Name)...).
		SetHeader("Accept", accept).Do(ctx))
	if err != nil { // including NotFound: only the watch reports deletions
		return fmt.Errorf("read %s %s/%s: %w", s.kind.Kind, subject.Namespace, subject.Name, err)
	}
	decoder := s.decoder(ctx)
	defer decoder.close()
	o, err := decoder.object(data)
	switch {
	case err != nil:
		return err
	case o.row == nil, o.row.Subject().UID != subject.UID:
		s.missing(subject, take)
	case s.reevaluator != nil:
		return s.reevaluator.reread(o, take)
	default:
		take(o.row)
	}
	return nil
}

// missing reports that a subject no longer exists.
func (s *source) missing(subject policy.Subject, take func(*index.FactRow)) {
	if s.reevaluator != nil {
		s.reevaluator.forgetMissing(subject, take)
		return
	}
	take(nil)
}

// isSecret reports whether a kind is Secret. Sunset reads only the metadata of Secrets.
func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// selectorOf returns the field selector of the objects of a kind to list and watch; empty for all.
func selectorOf(kind schema.GroupVersionKind) string {
	if !isSecret(kind) {
		return ""
	}
	return engine.UnheldSecrets
}

// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

const (
	forget = 10 * time.Minute // how long unused answers are kept: a tenant may name any number of ServiceAccounts

	// askWithin is the timeout for one question: other questions wait for it.
	askWithin = 5 * time.Second
)

// Checker asks the API server which permissions ServiceAccounts have, and caches the answers. Create it with New.
type Checker struct {
	reviews authorizationclient.SubjectAccessReviewInterface
	mapper  meta.RESTMapper
	clock   clock.Clock
	wake    wake.Signal // wakes the Refresher

	mu        sync.Mutex
	answers   map[question]answer
	preferred map[schema.GroupKind]schema.GroupVersionKind // by policy.StoredAs
	served    meta.RESTMapper                              // of all kinds, as the API server answered last; nil before
	changes   uint64                                       // of answers and preferred versions
}

// question is a set of permissions for one kind that a rule needs.
type question struct {
	namespace, account string
	kind               schema.GroupVersionKind
	verbs              string // separated by commas
}

// ownerVerbs is the verbs that a rule needs for an owner that it deletes. It needs get, because the result for the subject reveals
// facts about the owner.
const ownerVerbs = "get,delete"

// Missing is a missing permission that can be granted. It wraps preflight.ErrPermission.
type Missing struct {
	Resource schema.GroupResource
	What     string // the whole message
}

// Error implements error.
func (l *Missing) Error() string { return l.What }

// Unwrap supports errors.Is.
func (l *Missing) Unwrap() error { return preflight.ErrPermission }

type answer struct {
	at      time.Time
	err     error
	allowed bool // by the last response of the API server
}

// New returns a Checker.
func New(reviews authorizationclient.SubjectAccessReviewInterface, mapper meta.RESTMapper, c clock.Clock) *Checker {
	return &Checker{reviews: reviews, mapper: mapper, clock: c, answers: map[question]answer{},
		preferred: map[schema.GroupKind]schema.GroupVersionKind{}}
}

// Check returns nil if the ServiceAccount of a rule may list and delete objects of the rule's kind, and patch them if the rule
// sets marks, and create VolumeSnapshots if the rule makes them. The answer is at most a second old; since is when it was
// requested. The error wraps preflight.ErrPermission if a permission is missing.
func (c *Checker) Check(ctx context.Context, r *policy.Rule) (since time.Time, err error) {
	for _, q := range questionsOf(r) {
		at, err := c.check(ctx, q, preflight.MaxAge)
		if since.IsZero() || at.Before(since) {
			since = at
		}
		if err != nil {
			return since, err
		}
	}
	return since, nil
}

// CheckOwner returns nil if the ServiceAccount of a rule may get and delete owners of the kind. The answer is at most a second
// old; since is when it was requested. The error wraps preflight.ErrPermission if a permission is missing.
func (c *Checker) CheckOwner(ctx context.Context, r *policy.Rule, kind schema.GroupVersionKind) (since time.Time, err error) {
	return c.check(ctx, question{namespace: r.Namespace, account: r.ServiceAccount, kind: kind, verbs: ownerVerbs}, preflight.MaxAge)
}

// Known returns the latest answers about a rule, of any age, as the first error. Without an error, ok is false if an answer is
// missing.
func (c *Checker) Known(r *policy.Rule) (err error, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range questionsOf(r) {
		if a, known := c.answers[q]; !known || a.err != nil {
			return a.err, known
		}
	}
	return nil, true
}

// Allowed reports whether the ServiceAccount of a rule had its permissions for the kind of the rule by the last responses of the API
// server, of any age. Without the permission for VolumeSnapshots, the rule keeps its objects, but they are listed and counted.
func (c *Checker) Allowed(r *policy.Rule) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[questionsOf(r)[0]].allowed
}

// Preferred returns the version of a rule's kind that the API server prefers, by its last answer about the kind; zero if there is
// none yet.
func (c *Checker) Preferred(r *policy.Rule) schema.GroupVersionKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := policy.StoredAs(r.Kind)
	if known, ok := c.preferred[kind]; ok || c.served == nil {
		return known
	}
	c.prefers(kind)
	return c.preferred[kind]
}

// prefers records which version of a kind the API server prefers, and reports whether that has changed. A kind that it does not
// serve at the moment keeps the last one. mu must be held.
func (c *Checker) prefers(kind schema.GroupKind) (changed bool) {
	mapping, err := c.served.RESTMapping(kind)
	if err != nil || mapping.GroupVersionKind == c.preferred[kind] {
		return false
	}
	c.preferred[kind] = mapping.GroupVersionKind
	return true
}

// questionsOf returns the questions about a rule: first about the kind that it targets, then about VolumeSnapshots if it makes them.
func questionsOf(r *policy.Rule) []question {
	of := question{namespace: r.Namespace, account: r.ServiceAccount, kind: r.Kind, verbs: strings.Join(rbac.AccountVerbs(r), ",")}
	if r.Snapshot == nil {
		return []question{of}
	}
	create := of
	create.kind, create.verbs = policy.VolumeSnapshotKind, "create"
	return []question{of, create}
}

// check also returns when the answer was requested.
func (c *Checker) check(ctx context.Context, q question, maxAge time.Duration) (since time.Time, err error) {
	now := c.clock.Now()
	c.mu.Lock()
	latest, ok := c.answers[q]
	c.mu.Unlock()
	if ok && lease.Elapsed(now, latest.at) <= maxAge {
		return latest.at, latest.err
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	err = c.ask(asking, q)
	if ctx.Err() != nil { // the caller was canceled or timed out, which says nothing; a timeout of the request itself counts as an answer
		return now, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, ok := c.answers[q]
	if before.at.After(now) { // the answer to a later request arrived earlier
		return now, err
	}
	if !ok || fmt.Sprint(before.err) != fmt.Sprint(err) {
		c.changes++
	}
	c.answers[q] = answer{at: now, err: err, allowed: err == nil || before.allowed && !errors.Is(err, preflight.ErrPermission)}
	return now, err
}

// changed returns how often an answer has changed.
func (c *Checker) changed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// prune drops answers that were not requested for a long time before now.
func (c *Checker) prune(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answers, func(_ question, a answer) bool { return now.Sub(a.at) > forget })
}

func (c *Checker) ask(ctx context.Context, q question) error {
	if q.account == "" {
		return fmt.Errorf("%w: spec.serviceAccountName is empty; set it", preflight.ErrPermission)
	}
	mapping, err := c.mapper.RESTMapping(q.kind.GroupKind(), q.kind.Version)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", q.kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return fmt.Errorf("%w: %s is cluster-scoped, and the rules of a RetentionPolicy apply only in its namespace; use a ClusterRetentionPolicy", preflight.ErrPermission, q.kind.Kind)
	}
	var missing []string
	for verb := range strings.SplitSeq(q.verbs, ",") {
		allowed, err := c.review(ctx, q, mapping.Resource, verb)
		if err != nil {
			return fmt.Errorf("check the permissions of ServiceAccount %s/%s: %w", q.namespace, q.account, err)
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	resource := mapping.Resource.GroupResource()
	return &Missing{resource, fmt.Sprintf("%v: ServiceAccount %s may not %s %s in namespace %s", preflight.ErrPermission, q.account,
		strings.Join(missing, ", "), resource, q.namespace)}
}

func (c *Checker) review(ctx context.Context, q question, r schema.GroupVersionResource, verb string) (allowed bool, err error) {
	review, err := c.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   serviceaccount.MakeUsername(q.namespace, q.account),
		Groups: append(serviceaccount.MakeGroupNames(q.namespace), user.AllAuthenticated),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: q.namespace, Verb: verb, Group: r.Group, Version: r.Version, Resource: r.Resource,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

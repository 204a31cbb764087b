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
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// ErrMissing is wrapped by the error of a rule whose ServiceAccount lacks a right.
var ErrMissing = errors.New("missing permission")

const (
	freshFor = time.Second      // what a deletion rests on
	forget   = 10 * time.Minute // answers nobody has asked for: a tenant may name ever new ServiceAccounts

	// askWithin bounds a question: others wait for it.
	askWithin = 5 * time.Second
)

// Checker asks the API server what ServiceAccounts may do, and remembers the answers. Create it with New.
type Checker struct {
	reviews authorizationclient.SubjectAccessReviewInterface
	mapper  meta.RESTMapper
	clock   clock.Clock
	wake    chan struct{} // of the Loop

	mu      sync.Mutex
	answers map[question]answer
	changes uint64 // of answers
}

// question is what one rule needs.
type question struct {
	namespace, account string
	kind               schema.GroupVersionKind
	verbs              string // separated by commas
}

// owning is what a rule needs of an owner that it lets go: what becomes of the subject tells of the owner.
const owning = "get,delete"

// Missing is a right that is missing and can be granted. It is an ErrMissing.
type Missing struct {
	Resource schema.GroupResource
	What     string // the whole sentence
}

// Error implements error.
func (l *Missing) Error() string { return l.What }

// Unwrap implements what errors.Is asks for.
func (l *Missing) Unwrap() error { return ErrMissing }

type answer struct {
	at      time.Time
	err     error
	allowed bool // as the API server told last
}

// New makes a Checker.
func New(reviews authorizationclient.SubjectAccessReviewInterface, mapper meta.RESTMapper, c clock.Clock) *Checker {
	return &Checker{reviews: reviews, mapper: mapper, clock: c, wake: make(chan struct{}, 1), answers: map[question]answer{}}
}

// Check returns no error when the ServiceAccount of a rule may list and delete what the rule is about, and patch it where the
// rule marks, as of a time that is at most a second ago. The error wraps ErrMissing when a right is missing.
func (c *Checker) Check(ctx context.Context, r *policy.Rule) (since time.Time, err error) {
	return c.check(ctx, questionOf(r), freshFor)
}

// CheckOwner returns no error when the ServiceAccount of a rule may get and delete an owner of the kind, as of a time that is at
// most a second ago. The error wraps ErrMissing when a right is missing.
func (c *Checker) CheckOwner(ctx context.Context, r *policy.Rule, kind schema.GroupVersionKind) (since time.Time, err error) {
	return c.check(ctx, question{namespace: r.Namespace, account: r.ServiceAccount, kind: kind, verbs: owning}, freshFor)
}

// Known is the latest answer about a rule, however old; ok is false when there is none yet.
func (c *Checker) Known(r *policy.Rule) (err error, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers[questionOf(r)]
	return a.err, ok
}

// Allowed reports whether the ServiceAccount of a rule had its rights when the API server last told, however long ago.
func (c *Checker) Allowed(r *policy.Rule) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[questionOf(r)].allowed
}

func questionOf(r *policy.Rule) question {
	return question{namespace: r.Namespace, account: r.ServiceAccount, kind: r.Kind, verbs: strings.Join(rbac.AccountVerbs(r), ",")}
}

// check also says when the question was asked.
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
	if ctx.Err() != nil { // the caller has given up, or has no time left: that is no answer, as a request that takes too long is one
		return now, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, ok := c.answers[q]
	if !ok || fmt.Sprint(before.err) != fmt.Sprint(err) {
		c.changes++
	}
	c.answers[q] = answer{at: now, err: err, allowed: err == nil || before.allowed && !errors.Is(err, ErrMissing)}
	return now, err
}

// changed is how often an answer has changed.
func (c *Checker) changed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// prune forgets answers that were no longer asked for long before a time.
func (c *Checker) prune(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answers, func(_ question, a answer) bool { return now.Sub(a.at) > forget })
}

func (c *Checker) ask(ctx context.Context, q question) error {
	if q.account == "" {
		return fmt.Errorf("%w: spec.serviceAccountName is empty", ErrMissing)
	}
	mapping, err := c.mapper.RESTMapping(q.kind.GroupKind(), q.kind.Version)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", q.kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return fmt.Errorf("%w: %s is cluster-scoped, and the rules of a RetentionPolicy apply only in its namespace", ErrMissing, q.kind.Kind)
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
	return &Missing{resource, fmt.Sprintf("%v: ServiceAccount %s may not %s %s in namespace %s", ErrMissing, q.account,
		strings.Join(missing, ", "), resource, q.namespace)}
}

func (c *Checker) review(ctx context.Context, q question, r schema.GroupVersionResource, verb string) (allowed bool, err error) {
	const prefix = "system:serviceaccount"
	review, err := c.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   prefix + ":" + q.namespace + ":" + q.account,
		Groups: []string{prefix + "s", prefix + "s:" + q.namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: q.namespace, Verb: verb, Group: r.Group, Version: r.Version, Resource: r.Resource,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

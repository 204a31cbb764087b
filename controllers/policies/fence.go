package policies

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/lease"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	maxAge      = time.Second // of what a deletion rests on
	liveTimeout = 5 * time.Second
	// confirmEvery is how often to look live while the cache lacks what was seen live.
	confirmEvery = 5 * time.Second
)

var (
	errNotRead = errors.New("policies and namespaces have not been read yet")
	errRewound = errors.New("the API server's history went back, as after a restore: starting over")

	errPartial  = errors.New("the answer is no complete list")
	errOther    = errors.New("the answer is about another object")
	errBehind   = errors.New("the answer is older than the list")
	errDisagree = errors.New("the API server lists all but this one, and has it")
)

// freshness is when live reads last confirmed what we know. An answer counts from when it came: what it cannot know is
// no more than what is under way.
type freshness struct {
	mu         sync.Mutex // held during a read, so that one read serves all who wait
	policies   time.Time
	namespaces map[string]answer
	everything time.Time // all namespaces
	quotas     map[string]time.Time
	skew       error
}

// Check implements retention.Fence. It reads policies and the namespace live if they were last read more than a second
// ago, and puts what has changed in force before it answers.
func (l *Loop) Check(ctx context.Context, namespace string) error {
	if err := l.Leadership.Check(); err != nil {
		return err
	}
	if err := l.checkLive(ctx, namespace); err != nil {
		return err
	}
	return l.Leadership.Check() // reading may have taken a while
}

func (l *Loop) checkLive(ctx context.Context, namespace string) error {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if !l.Complete() {
		return errNotRead
	}
	if err := l.checkPolicies(ctx); err != nil {
		return err
	}
	if err := l.checkNamespace(ctx, namespace); err != nil {
		return err
	}
	l.checkQuotas(ctx, namespace)
	return l.live.skew
}

// confirm reads policies and namespaces live, whatever the last read was.
func (l *Loop) confirm(ctx context.Context) error {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	l.live.policies = time.Time{}
	if err := l.checkPolicies(ctx); err != nil {
		return err
	}
	return l.readAllNamespaces(ctx)
}

// Complete reports whether policies and namespaces have been read, and are in force.
func (l *Loop) Complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.complete
}

// fresh reports whether an answer that came at t still counts.
func (l *Loop) fresh(t time.Time) bool {
	return !t.IsZero() && lease.Elapsed(l.Clock.Now(), t) <= maxAge
}

// Permit implements retention.Fence.
func (l *Loop) Permit(ctx context.Context, rule *policy.Rule) error {
	if rule.Namespace == "" {
		return nil
	}
	return l.Rights.Check(ctx, rule)
}

// PermitOwner implements retention.Fence.
func (l *Loop) PermitOwner(ctx context.Context, rule *policy.Rule, owner *policy.Owner) error {
	if rule.Namespace == "" {
		return nil
	}
	return l.Rights.CheckOwner(ctx, rule, owner.Kind)
}

func (l *Loop) checkPolicies(ctx context.Context) error {
	if l.fresh(l.live.policies) {
		return nil
	}
	for _, shelf := range l.shelves() {
		if err := l.checkShelf(ctx, shelf); err != nil {
			return err
		}
	}
	l.live.policies = l.Clock.Now()
	return nil
}

func (l *Loop) checkShelf(ctx context.Context, on shelf) error {
	seen := l.seen(func() string { return on.newest })
	list, err := l.readList(ctx, on.list())
	if err != nil {
		return fmt.Errorf("read %s: %w", on.plural, err)
	}
	if older(list.ResourceVersion, seen) {
		return l.startOver()
	}
	if err := l.confirmMissing(ctx, on, list); err != nil {
		return err
	}
	var changed []*unstructured.Unstructured
	for i := range list.Items {
		if l.knows(on, &list.Items[i]) {
			continue
		}
		object := emptyOf(on.kind)
		err := l.readJSON(ctx, on.path(&list.Items[i]), &object.Object)
		if err == nil {
			err = sameName(object, &list.Items[i])
		}
		if err == nil && older(object.GetResourceVersion(), list.Items[i].ResourceVersion) {
			err = errBehind
		}
		if err != nil { // even if it is not found: what we know of it is outdated, and only a list may end it
			return fmt.Errorf("read policy %s: %w", keyOf(&list.Items[i]), err)
		}
		changed = append(changed, object)
	}
	l.takeLivePolicies(ctx, on, list, changed)
	return nil
}

// seen is how far a history has been seen by now.
func (l *Loop) seen(version func() string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return version()
}

// startOver ends the process, as nothing that was seen can be trusted any more.
func (l *Loop) startOver() error {
	l.fail(errRewound)
	return errRewound
}

func (l *Loop) knows(on shelf, item *metav1.PartialObjectMetadata) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := on.get(item)
	return ok && known.says(item)
}

// takeLivePolicies puts in force what a live list shows and we did not know.
func (l *Loop) takeLivePolicies(ctx context.Context, on shelf, list *metav1.PartialObjectMetadataList, changed []*unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := false
	for _, object := range changed {
		news = l.takePolicy(ctx, on, object) || news
	}
	if on.confine(uidsOf(list), list.ResourceVersion) || news {
		l.publish()
	}
}

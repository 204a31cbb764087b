package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/lease"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	maxAge      = time.Second     // of what a deletion rests on
	readTimeout = 3 * time.Second // of one live read: the API server may have read the state that long before
	liveTimeout = 2 * readTimeout // of all reads for a deletion
	// confirmEvery is how often to look live while the cache lacks what was seen live.
	confirmEvery = 5 * time.Second
)

var (
	errNotRead = errors.New("policies and namespaces have not been read yet")
	errRewound = errors.New("the API server's history went back, as after a restore: starting over")

	errPartial  = errors.New("incomplete list response")
	errOther    = errors.New("the answer is about another object")
	errBehind   = errors.New("the answer is older than the list")
	errDisagree = errors.New("object missing from LIST but returned by GET")
)

// freshness is when live reads last confirmed what we know. An answer counts from when it came.
type freshness struct {
	mu         sync.Mutex  // held during reads, so that one read serves all who wait
	policies   []time.Time // by shelf; nil for never
	namespaces map[string]answer
	everything time.Time // all namespaces
	quotas     map[string]time.Time
	unread     map[string]error // by namespace: RetentionPolicies that the latest list has, and that could not be read
	clocks     clocks
}

// Check implements retention.Fence. It reads policies and the namespace live if they were last read more than a second
// ago, and puts what has changed in force before it answers.
func (l *Loop) Check(ctx context.Context, namespace string) (since time.Time, err error) {
	if err := l.Leadership.Check(); err != nil {
		return since, err
	}
	since, err = l.checkLive(ctx, namespace)
	if errors.Is(err, errCompiling) { // without a lock: who asks about other namespaces need not wait
		wait, cancel := context.WithTimeout(ctx, compileWait)
		defer cancel()
		if err = l.awaitCompiled(wait, func() error { return l.compilingFor(namespace) }); err == nil {
			since, err = l.checkLive(ctx, namespace)
		}
	}
	if err != nil {
		return since, err
	}
	return since, l.Leadership.Check() // reading may have taken a while
}

func (l *Loop) checkLive(ctx context.Context, namespace string) (since time.Time, err error) {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if !l.Complete() {
		return since, errNotRead
	}
	if err := l.refresh(ctx, namespace); err != nil {
		return since, err
	}
	if err := l.live.clocks.trouble(); err != nil {
		return since, err
	}
	return l.since(namespace), cmp.Or(l.answerFor(namespace), l.compilingFor(namespace))
}

// since is when the oldest answer came that a deletion in the namespace rests on.
func (l *Loop) since(namespace string) time.Time {
	answers := slices.Clone(l.live.policies)
	if namespace != "" {
		answers = append(answers, slices.MaxFunc([]time.Time{l.live.namespaces[namespace].at, l.live.everything}, time.Time.Compare))
	}
	if l.boundByQuotas(namespace) {
		answers = append(answers, l.live.quotas[namespace])
	}
	return slices.MinFunc(answers, time.Time.Compare)
}

// refresh reads all that is not fresh at the same time, and then once more what is not by then. After that nothing is older
// than the other reads took.
func (l *Loop) refresh(ctx context.Context, namespace string) error {
	for round := range 2 {
		reads := l.stale(ctx, namespace)
		if len(reads) == 0 {
			return nil
		}
		if round == 0 {
			l.live.clocks.begin(l.fresh)
		}
		if err := together(reads...); err != nil {
			return err
		}
	}
	if l.lacksQuotas(namespace) { // because of an edit that the second time has shown
		l.readQuotasOf(ctx, namespace)
	}
	return nil
}

// stale are the reads of what is not fresh.
func (l *Loop) stale(ctx context.Context, namespace string) (reads []func() error) {
	if !l.knowsPolicies() {
		reads = append(reads, func() error { return l.readPolicies(ctx) })
	}
	if !l.answered(namespace) {
		reads = append(reads, func() error { return l.readPlace(ctx, namespace) })
	}
	if l.lacksQuotas(namespace) {
		reads = append(reads, func() error { l.readQuotasOf(ctx, namespace); return nil })
	}
	return reads
}

// together reads at the same time, and gives the first error in the order of the reads.
func together(reads ...func() error) error {
	var group sync.WaitGroup
	failed := make([]error, len(reads))
	for i, read := range reads {
		group.Go(func() { failed[i] = read() })
	}
	group.Wait()
	return cmp.Or(failed...)
}

// confirm reads policies and namespaces live, whatever the last read was.
func (l *Loop) confirm(ctx context.Context) error {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	l.live.policies = nil
	l.live.clocks.begin(l.fresh)
	return together(
		func() error { return l.readPolicies(ctx) },
		func() error { return l.readAllNamespaces(ctx) },
	)
}

// Complete reports whether policies and namespaces have been read, and are in force.
func (l *Loop) Complete() bool { return l.incomplete() == nil }

func (l *Loop) incomplete() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.complete {
		return nil
	}
	return errNotRead
}

// fresh reports whether an answer that came at t still counts.
func (l *Loop) fresh(t time.Time) bool {
	return !t.IsZero() && lease.Elapsed(l.Clock.Now(), t) <= maxAge
}

// Permit implements retention.Fence.
func (l *Loop) Permit(ctx context.Context, rule *policy.Rule) (since time.Time, err error) {
	if rule.Namespace == "" {
		return l.Clock.Now(), nil
	}
	return l.Rights.Check(ctx, rule)
}

// PermitOwner implements retention.Fence.
func (l *Loop) PermitOwner(ctx context.Context, rule *policy.Rule, owner *policy.Owner) (since time.Time, err error) {
	if rule.Namespace == "" {
		return l.Clock.Now(), nil
	}
	return l.Rights.CheckOwner(ctx, rule, owner.Kind)
}

func (l *Loop) knowsPolicies() bool {
	return l.live.policies != nil && !slices.ContainsFunc(l.live.policies, func(t time.Time) bool { return !l.fresh(t) })
}

// readPolicies reads the kinds of policies that are not fresh. If that fails, neither is: something may be known to have changed.
func (l *Loop) readPolicies(ctx context.Context) error {
	shelves := l.shelves()
	came := make([]time.Time, len(shelves))
	copy(came, l.live.policies)
	l.live.policies = nil
	var reads []func() error
	for i, shelf := range shelves {
		if l.fresh(came[i]) {
			continue
		}
		reads = append(reads, func() (err error) {
			came[i], err = l.checkShelf(ctx, shelf)
			return err
		})
	}
	if err := together(reads...); err != nil {
		return err
	}
	l.live.policies = came
	return nil
}

// checkShelf says when its list came.
func (l *Loop) checkShelf(ctx context.Context, on shelf) (time.Time, error) {
	seen := l.seen(func() string { return on.newest })
	list, err := l.readList(ctx, on.list())
	came := l.Clock.Now()
	if err != nil {
		return came, fmt.Errorf("read %s: %w", on.plural, err)
	}
	if older(list.ResourceVersion, seen) {
		return came, l.startOver()
	}
	if err := l.confirmMissing(ctx, on, list); err != nil {
		return came, err
	}
	var unknown []*metav1.PartialObjectMetadata
	for i := range list.Items {
		if !l.knows(on, &list.Items[i]) {
			unknown = append(unknown, &list.Items[i])
		}
	}
	changed, err := l.readChanged(ctx, on, unknown)
	if err != nil {
		return came, err
	}
	l.takeLivePolicies(on, list, changed)
	return came, nil
}

// readChanged reads policies that a list shows and we do not know. One that cannot be read, even if it is not found, leaves doubt: what we
// know of it is outdated, and only a list may end it. A RetentionPolicy leaves doubt about its namespace alone, since nothing in it matters
// elsewhere: whoever creates and deletes some all the time must not stop the deletions of others.
func (l *Loop) readChanged(ctx context.Context, on shelf, unknown []*metav1.PartialObjectMetadata) ([]*unstructured.Unstructured, error) {
	objects, failed := make([]*unstructured.Unstructured, len(unknown)), make([]error, len(unknown))
	var reading errgroup.Group
	reading.SetLimit(askedAtOnce)
	for i, item := range unknown {
		reading.Go(func() error {
			object := emptyOf(on.kind)
			failed[i] = l.readJSON(ctx, on.path(item), &object.Object)
			if failed[i] == nil {
				failed[i] = sameName(object, item)
			}
			if failed[i] == nil && older(object.GetResourceVersion(), item.ResourceVersion) {
				failed[i] = errBehind
			}
			objects[i] = object
			return nil
		})
	}
	_ = reading.Wait()
	var changed []*unstructured.Unstructured
	unread := map[string]error{}
	for i, item := range unknown {
		switch {
		case failed[i] == nil:
			changed = append(changed, objects[i])
		case item.Namespace == "":
			return nil, fmt.Errorf("read policy %s: %w", keyOf(item), failed[i])
		default:
			unread[item.Namespace] = fmt.Errorf("%w: read policy %s: %w", retention.ErrNamespace, keyOf(item), failed[i])
		}
	}
	if on.kind == v1alpha1.RetentionPolicyKind {
		l.live.unread = unread
	}
	return changed, nil
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
func (l *Loop) takeLivePolicies(on shelf, list *metav1.PartialObjectMetadataList, changed []*unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range changed {
		l.takePolicy(on, object)
	}
	l.dirty = on.confine(uidsOf(list), list.ResourceVersion) || l.dirty
	if !errors.Is(l.compilingIn(""), errCompiling) { // otherwise nothing is deleted until everything read together is in force
		l.settle()
	}
}

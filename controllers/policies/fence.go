package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
)

const (
	maxAge      = time.Second     // of what a deletion rests on
	maxSkew     = 5 * time.Second // between our clock and the API server's
	liveTimeout = 5 * time.Second
	// manyNamespaces is how many namespaces a second are read one by one; more are read in one list.
	manyNamespaces = 16
)

var errNotRead = errors.New("policies and namespaces have not been read yet")

// freshness is when live reads last confirmed what we know.
type freshness struct {
	mu         sync.Mutex // held during a read, so that one read serves all who wait
	policies   time.Time
	namespaces map[string]time.Time
	everything time.Time // all namespaces
	skew       error

	uidsMu sync.Mutex
	uids   map[types.UID]bool // policies of the latest live list
}

func (f *freshness) seen(uid types.UID) bool {
	f.uidsMu.Lock()
	defer f.uidsMu.Unlock()
	return f.uids[uid]
}

// Check implements retention.Fence. It reads policies and the namespace live if they were last read more than a second
// ago, and puts what has changed in force before it answers.
func (l *Loop) Check(ctx context.Context, namespace string) error {
	if err := l.Leadership.Check(); err != nil {
		return err
	}
	if !l.ready() {
		return errNotRead
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	if err := l.checkPolicies(ctx); err != nil {
		return err
	}
	if l.live.skew != nil {
		return l.live.skew
	}
	if namespace == "" {
		return nil
	}
	return l.checkNamespace(ctx, namespace)
}

func (l *Loop) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.complete
}

func (l *Loop) checkPolicies(ctx context.Context) error {
	if l.within(l.live.policies, maxAge) {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	if err := l.readMetadata(ctx, policiesPath, "PartialObjectMetadataList", list); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	if err := l.comparePolicies(ctx, list.Items); err != nil {
		return err
	}
	l.live.policies = l.Clock.Now()
	return nil
}

// comparePolicies puts in force what a live list shows and we did not know.
func (l *Loop) comparePolicies(ctx context.Context, items []metav1.PartialObjectMetadata) error {
	uids := make(map[types.UID]bool, len(items))
	var changed []*unstructured.Unstructured
	for i := range items {
		uids[items[i].UID] = true
		if l.knows(&items[i]) {
			continue
		}
		object := newPolicy()
		err := l.readJSON(ctx, policiesPath+"/"+items[i].Name, &object.Object)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read policy %s: %w", items[i].Name, err)
		}
		if err == nil {
			changed = append(changed, object)
		}
	}
	l.live.uidsMu.Lock()
	l.live.uids = uids
	l.live.uidsMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	removed := l.removeMissing(uids)
	for _, object := range changed {
		l.load(ctx, object)
	}
	if removed || len(changed) > 0 {
		l.publish()
	}
	return nil
}

func (l *Loop) knows(item *metav1.PartialObjectMetadata) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.policies[item.Name]
	return known != nil && known.uid == item.UID && known.generation >= item.Generation
}

func (l *Loop) removeMissing(uids map[types.UID]bool) bool {
	removed := false
	for name, known := range l.policies {
		if !uids[known.uid] {
			delete(l.policies, name)
			l.removed[known.uid] = true
			removed = true
		}
	}
	return removed
}

func (l *Loop) checkNamespace(ctx context.Context, name string) error {
	now := l.Clock.Now()
	if l.within(l.live.everything, maxAge) || l.within(l.live.namespaces[name], maxAge) {
		return l.known(name)
	}
	for other, at := range l.live.namespaces {
		if now.Sub(at) > maxAge {
			delete(l.live.namespaces, other)
		}
	}
	if len(l.live.namespaces) >= manyNamespaces {
		return l.checkAllNamespaces(ctx, name)
	}
	item := &metav1.PartialObjectMetadata{}
	err := l.readMetadata(ctx, namespacesPath+"/"+name, "PartialObjectMetadata", item)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %s does not exist", retention.ErrNamespace, name)
	case err != nil:
		return fmt.Errorf("read namespace %s: %w", name, err)
	case item.DeletionTimestamp != nil:
		return fmt.Errorf("%w: %s is terminating", retention.ErrNamespace, name)
	}
	l.compareNamespaces([]metav1.PartialObjectMetadata{*item}, false)
	if l.live.namespaces == nil {
		l.live.namespaces = map[string]time.Time{}
	}
	l.live.namespaces[name] = l.Clock.Now()
	return nil
}

func (l *Loop) checkAllNamespaces(ctx context.Context, name string) error {
	list := &metav1.PartialObjectMetadataList{}
	if err := l.readMetadata(ctx, namespacesPath, "PartialObjectMetadataList", list); err != nil {
		return fmt.Errorf("read namespaces: %w", err)
	}
	staying := list.Items[:0]
	for _, item := range list.Items {
		if item.DeletionTimestamp == nil {
			staying = append(staying, item)
		}
	}
	l.compareNamespaces(staying, true)
	l.live.everything = l.Clock.Now()
	return l.known(name)
}

// compareNamespaces puts other labels in force; all says that the items are all there are.
func (l *Loop) compareNamespaces(items []metav1.PartialObjectMetadata, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := all && len(items) != len(l.namespaces)
	for i := range items {
		changed = changed || l.namespaces[items[i].Name].version != items[i].ResourceVersion
	}
	if !changed {
		return
	}
	if all {
		l.takeNamespaces(items)
	} else {
		next := make(map[string]namespace, len(l.namespaces)+1)
		for name, n := range l.namespaces {
			next[name] = n
		}
		l.namespaces = next
		l.namespaces[items[0].Name] = namespace{version: items[0].ResourceVersion, labels: items[0].Labels}
	}
	l.publish()
}

func (l *Loop) known(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.namespaces[name]; !ok {
		return fmt.Errorf("%w: %s does not exist or is terminating", retention.ErrNamespace, name)
	}
	return nil
}

const (
	policiesPath   = "/apis/sunset.x-k8s.io/v1alpha1/clusterretentionpolicies"
	namespacesPath = "/api/v1/namespaces"
)

func (l *Loop) readMetadata(ctx context.Context, path, as string, into any) error {
	return l.read(ctx, path, "application/json;as="+as+";g=meta.k8s.io;v=v1", into)
}

func (l *Loop) readJSON(ctx context.Context, path string, into any) error {
	return l.read(ctx, path, "application/json", into)
}

// read is one live read: no cache of ours or of the API server answers it.
func (l *Loop) read(ctx context.Context, path, accept string, into any) error {
	data, err := l.Live.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// ObserveDates gives a transport that compares our clock with the Date of every answer.
func (l *Loop) ObserveDates(next http.RoundTripper) http.RoundTripper {
	return dates{next: next, loop: l}
}

type dates struct {
	next http.RoundTripper
	loop *Loop
}

// RoundTrip implements http.RoundTripper. It is called by reads that hold live.mu only.
func (d dates) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := d.loop.Clock.Now()
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		d.loop.live.skew = skew(date, sent, d.loop.Clock.Now())
	}
	return response, nil
}

// skew says that the server's clock may differ from ours by more than allowed. A Date is cut to the second, and was
// taken some time between sent and received; doubt counts.
func skew(date, sent, received time.Time) error {
	behind := received.Sub(date)
	ahead := date.Add(time.Second).Sub(sent)
	if worst := max(behind, ahead); worst > maxSkew {
		return fmt.Errorf("clock skew: the API server's clock may differ from ours by %s", worst.Round(100*time.Millisecond))
	}
	return nil
}

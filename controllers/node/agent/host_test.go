// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// host is an agent without its manager. The API server, the container runtime and the disk are fakes.
type host struct {
	*testing.T
	*pressureLoop
	*fakeRuntime
	server   client.Client
	cluster  *cluster
	counters *removalCounters
	fails    func(o client.Object) error // returns the error of a read; may be nil
	created  func(o client.Object) error // returns the error after an object was created; may be nil
	lists    int                         // number of lists of Pods
	updates  int                         // number of updates of reports
	made     int                         // number of created objects
	spec     int64                       // generation of policy p
}

const hostName = "node-1"

func newHost(t *testing.T, at clock.WithTickerAndDelayedExecution) *host {
	t.Helper()
	h := &host{T: t, fakeRuntime: &fakeRuntime{images: map[string]cri.Image{}}}
	h.fills(50)
	h.serve()
	readings := func() history.Reading {
		return history.Reading{Wall: at.Now(), BootID: "boot", Boot: time.Duration(at.Now().UnixNano())}
	}
	kept, err := history.Open(t.TempDir(), readings(), history.Options{Machine: hostName, Gap: time.Minute, Every: 15 * time.Second})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = kept.Close() })
	compiler := fixture.Compiler(t)
	disk := &disk{runtime: h.fakeRuntime, clock: at, statfs: h.fakeRuntime.statfs}
	h.cluster = &cluster{live: h.server, clock: at, name: hostName, disk: disk}
	h.join("uid-1")
	node := images.New(images.Options{
		Runtime: h.fakeRuntime, Cluster: h.cluster, History: kept, Readings: readings, Clock: at, Compiler: compiler, Interval: 30 * time.Second,
	})
	metrics, err := newAgentMetrics(prometheus.NewRegistry())
	expect.NoError(t, err)
	h.pressureLoop = &pressureLoop{clock: at, node: node, disk: disk, metrics: metrics}
	h.counters = &removalCounters{summary: node.Summary, pressed: h.pressureLoop.pressed, metrics: metrics}
	node.Late = h.counters.Removed
	h.rules = &rules{live: h.server, clocks: &skew.Clocks{}, clock: at, compiler: compiler, labels: h.cluster.labels, node: h.cluster.confirm, bound: h.pressureLoop.bound}
	h.reconciler = retention.New(retention.Options{Sources: node, Remover: node, Live: h.rules, Clock: at, Observer: h.counters, MaxInFlight: 1})
	h.rules.publish = func(snapshot *policy.Snapshot, programs map[string]*engine.Program) {
		node.Use(programs)
		h.reconciler.Use(snapshot, programs)
	}
	h.reporter = &reporter{
		client: h.server, clock: at, cluster: h.cluster, node: node, history: kept, rules: h.rules, disk: disk, counters: h.counters,
		runtime: h.fakeRuntime, every: reportEvery,
	}
	return h
}

// serve creates the API server, which gives each object its own UID.
func (h *host) serve() {
	h.Helper()
	scheme := runtime.NewScheme()
	expect.NoError(h.T, errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	h.server = fake.NewClientBuilder().WithScheme(scheme).WithGlobalResourceVersionCounter().WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
			if h.fails != nil {
				if err := h.fails(into); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, into, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, o ...client.ListOption) error {
			if _, ok := into.(*corev1.PodList); ok {
				h.lists++
				if h.fails != nil {
					if err := h.fails(&corev1.Pod{}); err != nil {
						return err
					}
				}
			}
			return c.List(ctx, into, o...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			h.made++
			if object.GetUID() == "" {
				object.SetUID(types.UID(fmt.Sprintf("made-%d", h.made)))
			}
			err := c.Create(ctx, object, o...)
			if err == nil && h.created != nil {
				err = h.created(object)
			}
			return err
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.UpdateOption) error {
			if _, ok := object.(*v1alpha1.NodeImageReport); ok {
				h.updates++
			}
			return c.Update(ctx, object, o...)
		},
	}).Build()
}

// join creates the node with that UID, in place of any other.
func (h *host) join(uid types.UID) {
	h.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hostName, UID: uid}}
	h.forget(node.DeepCopy())
	expect.NoError(h.T, h.server.Create(h.Context(), node))
	h.cluster.set(node)
}

// sendRules writes policy p with rules about images, and makes the node read it.
func (h *host) sendRules(mode v1alpha1.Mode, about ...v1alpha1.Rule) {
	h.Helper()
	h.spec++
	p := &v1alpha1.ClusterRetentionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "uid-p", Generation: h.spec}, Spec: v1alpha1.ClusterRetentionPolicySpec{Mode: mode, Rules: about},
	}
	told := &v1alpha1.NodeImageRules{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NodeImageRulesName}}
	told.Policies = []v1alpha1.NodeImagePolicy{{Name: p.Name, UID: p.UID, Generation: h.spec, Hash: fmt.Sprint("hash-", h.spec), Spec: p.Spec}}
	told.Known = []v1alpha1.NodeImageKnownPolicy{{Name: p.Name, UID: p.UID, Generation: h.spec}}
	for _, o := range []client.Object{p, told} {
		h.forget(o)
		expect.NoError(h.T, h.server.Create(h.Context(), o))
	}
	h.read()
}

// forget deletes an object if it exists.
func (h *host) forget(o client.Object) {
	h.Helper()
	expect.NoError(h.T, client.IgnoreNotFound(h.server.Delete(h.Context(), o)))
}

// read makes the node read the rules at once.
func (h *host) read() {
	h.Helper()
	h.rules.mu.Lock()
	h.rules.confirmedAt = time.Time{}
	h.rules.mu.Unlock()
	if _, err := h.rules.Check(h.Context(), ""); err != nil {
		h.Fatal(err)
	}
}

// look takes a snapshot of the images and ignores its error.
func (h *host) look() {
	_ = h.node.Open(retention.NewRuleSet(v1alpha1.ImageKind, nil, nil)).Read(h.Context(), policy.Subject{}, func(*index.FactRow) {})
}

// report returns the report in the API server.
func (h *host) report() *v1alpha1.NodeImageReport {
	h.Helper()
	r := &v1alpha1.NodeImageReport{}
	expect.NoError(h.T, h.server.Get(h.Context(), client.ObjectKey{Name: hostName}, r))
	return r
}

// removes records that a rule of policy p has removed an image of seven bytes.
func (h *host) removes(rule string) {
	id := idOf(99)
	h.add(id, 7)
	h.look()
	h.counters.Removed(retention.Removal{
		Subject: policy.Subject{Name: id}, Reason: policy.Expired,
		Rule: &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: rule}, PolicyUID: "uid-p", Kind: v1alpha1.ImageKind},
	})
}

// fakeRuntime is a container runtime in which all images are unused.
type fakeRuntime struct {
	mu     sync.Mutex
	images map[string]cri.Image
	away   error // error of its calls
	usage  v1alpha1.NodeImageFilesystem
	blind  error // error of reading the disk usage
}

// idOf returns the full ID of image n.
func idOf(n int) string { return fmt.Sprintf("sha256:%s%02d", strings.Repeat("0", 62), n) }

func (s *fakeRuntime) add(id string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images[id] = cri.Image{ID: id, Tags: []string{"app:" + id[len(id)-2:]}, Digests: []string{"app@" + id}, SizeBytes: bytes}
}

// fills sets the usage of a filesystem of 1,000 bytes.
func (s *fakeRuntime) fills(percent int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = v1alpha1.NodeImageFilesystem{CapacityBytes: 1000, UsedBytes: int64(percent) * 10, UsedPercent: percent}
}

func (s *fakeRuntime) statfs(string) (v1alpha1.NodeImageFilesystem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage, s.blind
}

func (s *fakeRuntime) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.images))
}

func (s *fakeRuntime) Images(context.Context) ([]cri.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.images)), s.away
}

func (s *fakeRuntime) Image(_ context.Context, id string) (cri.Image, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.images[id]
	return i, ok, nil
}

func (s *fakeRuntime) Uses(context.Context) (cri.Uses, error) { return cri.NewUses(), nil }

func (s *fakeRuntime) Remove(_ context.Context, id string, _ func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.images, id)
	return nil
}

func (s *fakeRuntime) Version(context.Context) (cri.Version, error) {
	return cri.Version{Name: "containerd", Version: "v2"}, s.away
}

func (s *fakeRuntime) Filesystems(context.Context) ([]string, error) { return []string{"/images"}, nil }

// aboutImages returns a rule about all images.
func aboutImages(name, ttl string, own *v1alpha1.Images) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: name, Eligible: "true", TTL: ttl, Images: own,
		Target: v1alpha1.Target{APIVersion: v1alpha1.ImageKind.GroupVersion().String(), Kind: v1alpha1.ImageKind.Kind},
	}
}

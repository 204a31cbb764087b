// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// environment is the control plane on which the benchmark runs.
type environment struct {
	options
	plane   *cluster.Cluster
	storage *storage
	client  kubernetes.Interface
	policy  client.Client
	dir     string // of logs
	kcm     string // path of kube-controller-manager
	table   table
	stands  bool // whether the standing Jobs exist
	queued  int  // Jobs created for Kueue
	store   int  // process id of the object store; 0 without it

	listings atomic.Int64 // of Jobs, that the benchmark has sent
}

// openEnvironment opens an environment on a new control plane.
func openEnvironment(ctx context.Context, o options, plane cluster.Options) (*environment, error) {
	paths, err := cluster.Binaries(ctx, os.Stderr, cluster.ControllerManager)
	if err != nil {
		return nil, err
	}
	l := &environment{options: o, kcm: paths[cluster.ControllerManager]}
	if l.plane, err = cluster.Start(ctx, plane); err != nil {
		return nil, err
	}
	err = l.prepare()
	if err == nil && o.pin {
		err = l.separate(ctx)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// separate moves the API server and etcd to processor 0, and the benchmark, with all processes that it starts later, to
// processor 1.
func (l *environment) separate(ctx context.Context) error {
	for pid, processor := range map[int]string{l.plane.PID(cluster.APIServer): "0", l.plane.PID(cluster.Etcd): "0", os.Getpid(): "1"} {
		out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", processor, strconv.Itoa(pid)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("taskset for process %d: %w: %s", pid, err, out)
		}
	}
	return nil
}

func (l *environment) prepare() error {
	err := cluster.InstallSunset(l.plane.Config())
	if err != nil {
		return err
	}
	config := l.plane.Config()
	config.DisableCompression = true // as Sunset does
	config.Wrap(l.countListings)
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if l.policy, err = cluster.NewClient(l.plane.Config()); err != nil {
		return err
	}
	l.storage = newStorage(l.plane.URL(cluster.Etcd))
	l.dir, err = os.MkdirTemp("", "sunset-bench-")
	return err
}

// countListings counts the requests that list Jobs.
func (l *environment) countListings(next http.RoundTripper) http.RoundTripper {
	return answer.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs") && !r.URL.Query().Has("watch") {
			l.listings.Add(1)
		}
		return next.RoundTrip(r)
	})
}

func (l *environment) close() {
	if l.plane == nil {
		return
	}
	if err := l.plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	_ = os.RemoveAll(l.dir)
}

// startSunset starts the controller as a separate process.
func (l *environment) startSunset() (*process, error) {
	args := append([]string{"--kubeconfig", l.plane.Kubeconfig(), "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--pprof-bind-address=" + l.pprof}, l.flags...)
	return start(l.sunset, filepath.Join(l.dir, "sunset.log"), nil, args...)
}

// apply creates a policy from YAML.
func (l *environment) apply(ctx context.Context, name, spec string) (*v1alpha1.ClusterRetentionPolicy, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec:\n"+spec), &u.Object); err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	u.SetName(name)
	if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "approval"); !found {
		// Scenarios must not wait for an approval.
		approval := map[string]any{"maxObjects": int64(1000000), "maxPercent": int64(100)}
		if err := unstructured.SetNestedMap(u.Object, approval, "spec", "approval"); err != nil {
			return nil, err
		}
	}
	if err := l.policy.Create(ctx, u); err != nil {
		return nil, err
	}
	return l.get(ctx, name)
}

// edit changes the spec of a policy.
func (l *environment) edit(ctx context.Context, name string, change func(*v1alpha1.ClusterRetentionPolicySpec)) error {
	p, err := l.get(ctx, name)
	if err != nil {
		return err
	}
	before := p.DeepCopy()
	change(&p.Spec)
	return l.policy.Patch(ctx, p, client.MergeFrom(before))
}

func (l *environment) get(ctx context.Context, name string) (*v1alpha1.ClusterRetentionPolicy, error) {
	p := &v1alpha1.ClusterRetentionPolicy{}
	return p, l.policy.Get(ctx, client.ObjectKey{Name: name}, p)
}

// until waits until a policy satisfies done; what says so in the error.
func (l *environment) until(ctx context.Context, name, what string, done func(*v1alpha1.ClusterRetentionPolicy) bool) error {
	for {
		p, err := l.get(ctx, name)
		if err != nil {
			return err
		}
		if done(p) {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("waiting until policy %s %s; it matches %d, eligible %d: %w", name, what, p.Status.Matched, p.Status.Eligible, err)
		}
	}
}

// enforcing waits until a policy is in force.
func (l *environment) enforcing(ctx context.Context, name string) error {
	return l.until(ctx, name, "is ready", func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.ObservedGeneration == p.Generation && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
}

// matched waits until the status of a policy counts n matched objects.
func (l *environment) matched(ctx context.Context, name string, n int) error {
	return l.until(ctx, name, fmt.Sprintf("matches %d objects", n), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.Matched == int64(n)
	})
}

func (l *environment) remove(ctx context.Context, name string) error {
	return l.policy.Delete(ctx, &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

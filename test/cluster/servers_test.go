// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestClusterWithSecondAPIServer is also one test with several steps: a stale second API server, bodies in the audit logs, a paused
// component, and a restored etcd.
func TestClusterWithSecondAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{
		Controllers: []string{}, SecondAPIServer: true, History: true, AuditPolicy: cluster.AuditBodies, Progress: io.Discard,
	})
	expect.NoError(t, err)
	defer func() { _ = c.Stop() }()
	behind, err := c.UserConfigAt(cluster.SecondAPIServer, "somebody", "system:masters")
	expect.NoError(t, err)
	a := kubernetes.NewForConfigOrDie(c.Config()).CoreV1().ConfigMaps(ns)
	b := kubernetes.NewForConfigOrDie(behind).CoreV1().ConfigMaps(ns)

	t.Run("the second is stale while its relay is stalled", func(t *testing.T) { stale(t, c, a, b) })
	t.Run("each audit log has the server's own requests", func(t *testing.T) { audited(t, c) })
	t.Run("a paused server does not answer and loses nothing", func(t *testing.T) { paused(t, c, a) })
	t.Run("etcd has its earlier data", func(t *testing.T) { rewound(t, c, a) })
}

func stale(t *testing.T, c *cluster.Cluster, a, b typedcorev1.ConfigMapInterface) {
	create(t, a, "before")
	cluster.Eventually(t, time.Minute, func() error { return has(b, "before") })
	c.Relay().Stall()
	create(t, a, "after")
	if err := has(b, "after"); !errors.Is(err, errMissing) {
		t.Errorf("the stalled server returned new data: %v", err)
	}
	if err := has(b, "before"); err != nil {
		t.Error(err)
	}
	c.Relay().Heal()
	cluster.Eventually(t, time.Minute, func() error { return has(b, "after") })
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("not-it")}
	if err := b.Delete(t.Context(), "after", options); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
}

var errMissing = errors.New("the object is missing")

// has reads from the cache of an API server.
func has(configMaps typedcorev1.ConfigMapInterface, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := configMaps.Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return errMissing
	}
	return err
}

func create(t *testing.T, configMaps typedcorev1.ConfigMapInterface, name string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := configMaps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func audited(t *testing.T, c *cluster.Cluster) {
	for i, want := range []string{`"username":"admin"`, `"preconditions":{"uid":"not-it"}`} {
		cluster.Eventually(t, time.Minute, func() error {
			log, err := os.ReadFile(c.AuditLogs()[i])
			if err == nil && !bytes.Contains(log, []byte(want)) {
				err = fmt.Errorf("%s has no %s: %s", c.AuditLogs()[i], want, lastOf(log))
			}
			return err
		})
	}
}

// lastOf returns the end of a log.
func lastOf(log []byte) []byte { return log[max(0, len(log)-4096):] }

func paused(t *testing.T, c *cluster.Cluster, a typedcorev1.ConfigMapInterface) {
	expect.NoError(t, c.Pause(cluster.APIServer))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := a.Get(ctx, "before", metav1.GetOptions{}); err == nil {
		t.Error("a paused API server answered")
	}
	expect.NoError(t, c.Resume(cluster.APIServer))
	cluster.Eventually(t, time.Minute, func() error { return has(a, "before") })
}

func rewound(t *testing.T, c *cluster.Cluster, a typedcorev1.ConfigMapInterface) {
	snapshot, err := c.Snapshot()
	expect.NoError(t, err)
	create(t, a, "since")
	expect.NoError(t, c.Kill(cluster.APIServer))
	expect.NoError(t, c.Rewind(t.Context(), snapshot))
	expect.NoError(t, c.Restart(t.Context(), cluster.APIServer))
	if err := errors.Join(has(a, "before"), has(a, "after")); err != nil {
		t.Errorf("objects of the snapshot: %v", err)
	}
	if err := has(a, "since"); !errors.Is(err, errMissing) {
		t.Errorf("objects created after the snapshot: %v", err)
	}
}

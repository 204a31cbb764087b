// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	build.Remove()
	os.Exit(code)
}

const patience = time.Minute

// TestCheckOnRealControlPlane checks a real Sunset with real logs and finds no violation. Then it counts the DELETE of another
// user as Sunset's, and finds violations.
func TestCheckOnRealControlPlane(t *testing.T) {
	t.Parallel()
	plane := start(t)
	admin := clientOf(t, plane, "admin")
	created := time.Now()
	policies(t, admin)
	var due []client.Object
	for i := range 5 {
		due = append(due, configMap(t, admin, fmt.Sprintf("old-%d", i), nil))
	}
	held := configMap(t, admin, "held", map[string]string{v1alpha1.HoldAnnotation: "true"})
	stop := sunset(t, plane)
	gone(t, admin, due)
	quiet := time.Now()
	counted(t, admin, len(due))
	stop()

	clumsy := clientOf(t, plane, "clumsy")
	expect.NoError(t, clumsy.Delete(t.Context(), held))
	evidence := read(t, plane)
	evidence.Users, evidence.Quiet, evidence.Ended, evidence.Deadline = []string{us}, quiet, time.Now(), time.Millisecond
	report, err := checker.Check(evidence)
	if err != nil || report.Err() != nil || report.Removed != len(due) {
		t.Fatalf("%v\n%s", err, report)
	}
	at, known := history.NewTimeline(evidence.Requests, evidence.Log).Latest(evidence.Log.Ends()[0].Revision)
	if !known || at.Before(created) || at.After(quiet) {
		t.Errorf("the first removal was at %s, not between %s and %s", at, created, quiet)
	}
	evidence.Users = []string{us, "clumsy"}
	report, err = checker.Check(evidence)
	broken := func(p checker.Promise) bool {
		return slices.ContainsFunc(report.Violations, func(v checker.Violation) bool { return v.Promise == p })
	}
	if err != nil || !broken(checker.Fenced) || !broken(checker.HeldStays) {
		t.Errorf("%v\n%s", err, report)
	}
}

func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	plane, err := cluster.Start(t.Context(), cluster.Options{Controllers: []string{}, AuditPolicy: cluster.AuditBodies, History: true})
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := envtest.InstallCRDs(plane.Config(), envtest.CRDInstallOptions{Paths: []string{"../../../crds"}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	return plane
}

func clientOf(t *testing.T, plane *cluster.Cluster, user string) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	config, err := plane.UserConfig(user, "system:masters")
	expect.NoError(t, errors.Join(err, clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	c, err := client.New(config, client.Options{Scheme: scheme})
	expect.NoError(t, err)
	return c
}

func policies(t *testing.T, c client.Client) {
	t.Helper()
	for name, mode := range map[string]v1alpha1.Mode{"old": v1alpha1.Enforce, "dry": v1alpha1.DryRun} {
		p := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterRetentionPolicySpec{
			Mode:   mode,
			Limits: &v1alpha1.Limits{MaxDeletions: 10, Window: "1m"},
			Rules: []v1alpha1.Rule{{Name: "r", Target: v1alpha1.Target{APIVersion: "v1", Kind: "ConfigMap"}, TTL: "1s",
				Eligible: "object.metadata.name.startsWith('old') || object.metadata.name == 'held'", StartTime: "object.metadata.creationTimestamp"}},
		}}
		expect.NoError(t, c.Create(t.Context(), p))
	}
}

func configMap(t *testing.T, c client.Client, name string, annotations map[string]string) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: annotations}}
	expect.NoError(t, c.Create(t.Context(), object))
	return object
}

// sunset runs a controller until the test calls stop.
func sunset(t *testing.T, plane *cluster.Cluster) (stop func()) {
	t.Helper()
	config, err := plane.UserConfig(us, "system:masters")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	expect.NoError(t, errors.Join(err, cluster.WriteKubeconfig(kubeconfig, config)))
	var log bytes.Buffer
	process := exec.Command(build.Plain(t), "--kubeconfig", kubeconfig, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	process.Stderr = &log
	expect.NoError(t, process.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return func() {
		t.Helper()
		if err := errors.Join(process.Process.Signal(syscall.SIGTERM), process.Wait()); err != nil {
			t.Error(err)
		}
	}
}

func gone(t *testing.T, c client.Client, objects []client.Object) {
	t.Helper()
	for _, object := range objects {
		cluster.Eventually(t, patience, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s still exists (%v)", object.GetName(), err)
		})
	}
}

// counted waits until the ledgers have counted n objects.
func counted(t *testing.T, c client.Client, n int) {
	t.Helper()
	cluster.Eventually(t, patience, func() error {
		ledgers := &v1alpha1.RetentionLedgerList{}
		err := c.List(t.Context(), ledgers)
		sum := 0
		for _, l := range ledgers.Items {
			sum += int(l.Total.Deleted)
		}
		if sum != n {
			return fmt.Errorf("%d objects are counted (%v)", sum, err)
		}
		return nil
	})
}

func read(t *testing.T, plane *cluster.Cluster) checker.Evidence {
	t.Helper()
	requests, err := history.ReadAudit(plane.AuditLogs()...)
	expect.NoError(t, err)
	log, err := history.ReadEtcd(context.Background(), plane.URL(cluster.Etcd), "/registry/")
	expect.NoError(t, err)
	return checker.Evidence{Requests: requests, Log: log}
}

// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

const ns = metav1.NamespaceDefault

// TestCluster is one test with several steps because starting a control plane for each of them is expensive.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	t.Setenv("TMPDIR", t.TempDir())
	logs := t.TempDir()
	if _, err := cluster.Binaries(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	c, err := cluster.Start(t.Context(), cluster.Options{
		Nodes: 2, LogDir: logs, AuditPolicy: cluster.AuditMetadata,
	})
	expect.NoError(t, err)
	defer func() { _ = c.Stop() }()
	t.Logf("started in %s", time.Since(start).Round(10*time.Millisecond))
	client := kubernetes.NewForConfigOrDie(c.Config())

	t.Run("jobs end as annotated", func(t *testing.T) { jobsEnd(t, client) })
	t.Run("pods of a deleted job are garbage collected", func(t *testing.T) { collected(t, client) })
	t.Run("RBAC restricts a user", func(t *testing.T) { userDenied(t, c) })
	t.Run("data and watchers survive the API server", func(t *testing.T) { survives(t, c, client) })
	t.Run("no process or file remains", func(t *testing.T) { nothingStays(t, c, logs) })
}

func jobsEnd(t *testing.T, client kubernetes.Interface) {
	createJob(t, client, job("succeeds", cluster.Succeeded, time.Second))
	createJob(t, client, job("fails", cluster.Failed, 0))
	waitJob(t, client, "succeeds", batchv1.JobComplete)
	waitJob(t, client, "fails", batchv1.JobFailed)
	for name, code := range map[string]int32{"succeeds": 0, "fails": 1} {
		end := podsOf(t, client, name)[0].Status.ContainerStatuses[0].State.Terminated
		if end == nil || end.ExitCode != code || end.StartedAt.IsZero() || end.FinishedAt.IsZero() {
			t.Errorf("pod of %s: terminated = %+v, want exit code %d and both times", name, end, code)
		}
		if name == "succeeds" && end.FinishedAt.Sub(end.StartedAt.Time) < time.Second {
			t.Errorf("pod of %s ran for %s, want 1s at least", name, end.FinishedAt.Sub(end.StartedAt.Time))
		}
	}
}

func collected(t *testing.T, client kubernetes.Interface) {
	background := metav1.DeletePropagationBackground
	err := client.BatchV1().Jobs(ns).Delete(t.Context(), "succeeds", metav1.DeleteOptions{PropagationPolicy: &background})
	expect.NoError(t, err)
	cluster.Eventually(t, time.Minute, func() error {
		n := len(podsOf(t, client, "succeeds"))
		return cluster.Want(n == 0, "%d pods are left", n)
	})
	if n := len(podsOf(t, client, "fails")); n != 1 {
		t.Errorf("the other job has %d pods, want 1", n)
	}
}

func userDenied(t *testing.T, c *cluster.Cluster) {
	config, err := c.UserConfig("nobody", "nothing")
	expect.NoError(t, err)
	_, err = kubernetes.NewForConfigOrDie(config).BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("list jobs as a user without permissions: %v, want forbidden", err)
	}
}

func survives(t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	createJob(t, client, job("endless", cluster.Endless, 0))
	expect.NoError(t, c.Kill(cluster.APIServer))
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the killed API server still answers")
	}
	expect.NoError(t, c.Restart(t.Context(), cluster.APIServer))
	waitJob(t, client, "fails", batchv1.JobFailed)
	createJob(t, client, job("after", cluster.Succeeded, 0))
	waitJob(t, client, "after", batchv1.JobComplete)
	cluster.Eventually(t, time.Minute, func() error { // the Job controller may have created the Pod only after the restart
		pods := podsOf(t, client, "endless")
		return cluster.Want(len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning, "pods of the endless job: %d, want one that runs", len(pods))
	})
}

func nothingStays(t *testing.T, c *cluster.Cluster, logs string) {
	pids := map[cluster.Component]int{}
	for _, component := range []cluster.Component{cluster.Etcd, cluster.APIServer, cluster.ControllerManager, cluster.Kwok} {
		pids[component] = c.PID(component)
	}
	start := time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped in %s", time.Since(start).Round(10*time.Millisecond))
	for component, pid := range pids {
		if err := syscall.Kill(pid, 0); pid == 0 || !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s, pid %d, still runs: %v", component, pid, err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("temporary directory has %v, %v; want nothing", left, err)
	}
	for _, name := range []string{"kube-apiserver.log", "audit.log"} {
		if info, err := os.Stat(filepath.Join(logs, name)); err != nil || info.Size() == 0 {
			t.Errorf("log %s: %v, want a log that is not empty", name, err)
		}
	}
}

func job(name string, outcome cluster.Outcome, runFor time.Duration) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				NodeName:      cluster.NodeName(0),
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "example.com/none"}},
			}},
		},
	}
	cluster.SetFate(&j.Spec.Template, outcome, runFor)
	return j
}

func createJob(t *testing.T, client kubernetes.Interface, j *batchv1.Job) {
	t.Helper()
	if _, err := client.BatchV1().Jobs(ns).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func waitJob(t *testing.T, client kubernetes.Interface, name string, want batchv1.JobConditionType) {
	t.Helper()
	cluster.Eventually(t, time.Minute, func() error {
		j, err := client.BatchV1().Jobs(ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range j.Status.Conditions {
			if cond.Type == want && cond.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("job %s is not %s: %+v", name, want, j.Status)
	})
}

func podsOf(t *testing.T, client kubernetes.Interface, job string) []corev1.Pod {
	t.Helper()
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	expect.NoError(t, err)
	return pods.Items
}

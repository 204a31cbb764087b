// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestQuickstart runs the steps of the quickstart that follow the installation.
func TestQuickstart(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.Cleanup(func() {
		_ = w.DeleteAllOf(context.Background(), &batchv1.Job{}, client.InNamespace("default"), client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	go w.schedule(ctx, "default")
	steps := exec.CommandContext(w.Context(), "test/quickstart/quickstart.sh", "try")
	steps.Dir, steps.Env = "../..", w.withKubectl()
	output, err := steps.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Errorf("test/quickstart/quickstart.sh: %v", err)
	}
}

// withKubectl returns the environment of a command that uses kubectl on the control plane. Programs in the folders come first.
func (w *env) withKubectl(folders ...string) []string {
	w.Helper()
	paths, err := cluster.Binaries(w.Context(), os.Stderr, cluster.Kubectl)
	expect.NoError(w, err)
	folders = append(folders, filepath.Dir(paths[cluster.Kubectl]), os.Getenv("PATH"))
	return append(os.Environ(), "PATH="+strings.Join(folders, ":"), "KUBECONFIG="+w.plane.Kubeconfig())
}

// schedule binds the Pods of a namespace to a node, because the control plane has no kube-scheduler.
func (w *env) schedule(ctx context.Context, namespace string) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		var pods corev1.PodList
		if w.List(ctx, &pods, client.InNamespace(namespace)) != nil {
			return
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Spec.NodeName == "" {
				_ = w.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: cluster.NodeName(0)}})
			}
		}
	}, 100*time.Millisecond)
}

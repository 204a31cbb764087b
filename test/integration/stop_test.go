// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

const suspendedJobs = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// plugin runs kubectl sunset, and returns its output.
func (w *env) plugin(args ...string) string {
	w.Helper()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	args = append(args, "--kubeconfig", w.plane.Kubeconfig(), "--cache-dir", w.TempDir())
	if code := command.Run(w.Context(), args, streams, time.Now()); code != command.ExitOK {
		w.Fatalf("kubectl sunset %v: exit code %d: %s", args, code, &out)
	}
	return out.String()
}

func (w *env) jobsLeft() int {
	w.Helper()
	var left batchv1.JobList
	expect.NoError(w, w.List(w.Context(), &left, client.InNamespace(w.namespace)))
	return len(left.Items)
}

// TestDeletionsStop: from a second after each of the two commands that stop all deletions has ended, the controller sends no DELETE. The
// commands for kubectl on docs/tasks/stop-deletions.md need no running controller: one that starts later deletes nothing.
func TestDeletionsStop(t *testing.T) {
	t.Parallel()
	suspendAll := func(w *env, _ *stoppable) { w.plugin("suspend", "--all") }
	for name, test := range map[string]struct {
		spec string // of the policy
		stop func(*env, *stoppable)
	}{
		"without permissions": {suspendedJobs, func(w *env, _ *stoppable) {
			expect.NoError(w, w.DeleteAllOf(w.Context(), &rbacv1.ClusterRoleBinding{}, client.MatchingLabels{"rbac.sunset-k8s.io/grants-deletion": "true"}))
		}},
		"with suspended policies":              {suspendedJobs, suspendAll},
		"with suspended policies that archive": {suspendedJobs + "  archive: {to: ARCHIVE}\n", suspendAll},
		"with policies suspended while Sunset is down": {suspendedJobs, func(w *env, s *stoppable) {
			s.stop()
			w.plugin("suspend", "--all")
			s.start()
			w.expect(s.policy, v1alpha1.ConditionEnforcing, "Suspended", "deletes nothing")
		}},
		"with a policy that kubectl suspends while Sunset is down": {suspendedJobs, func(w *env, s *stoppable) {
			s.stop()
			w.kubectl(strings.ReplaceAll(w.stopping("kubectl patch "), "batch", s.policy.Name))
			s.start()
			w.expect(s.policy, v1alpha1.ConditionEnforcing, "Suspended", "deletes nothing")
		}},
		"without permissions that kubectl deletes while Sunset is down": {suspendedJobs, func(w *env, s *stoppable) {
			s.stop()
			w.kubectl(w.stopping("kubectl delete "))
			s.start()
			w.expect(s.policy, v1alpha1.ConditionReady, "Forbidden", "jobs")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t)
			config := w.userOfPermissionsPage()
			var mu sync.Mutex
			var last time.Time // when the controller sent the last DELETE of a Job for which it had the permission
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return answer.Func(func(r *http.Request) (*http.Response, error) {
					sent := time.Now()
					answered, err := next.RoundTrip(r)
					if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/jobs/") && (err != nil || answered.StatusCode != http.StatusForbidden) {
						mu.Lock()
						last = policy.Latest(last, sent)
						mu.Unlock()
					}
					return answered, err
				})
			})
			archive := w.archive("jobs", stores.Files(t))
			const jobs, perSecond = 80, 8 // ten seconds
			w.Cleanup(func() {
				_ = w.DeleteAllOf(context.Background(), &batchv1.Job{}, client.InNamespace(w.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))
			})
			for i := range jobs {
				w.create(&batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprint("job-", i)},
					Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: corev1.PodTemplateSpec{
						Spec: corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
				})
			}
			s := &stoppable{}
			s.start = func() { s.stop = w.sunset(func(c *manager.Config) { c.Rest, c.MaxPerSecond = config, perSecond }) }
			s.start()
			s.policy = w.policy("jobs", strings.Replace(test.spec, "ARCHIVE", archive.Name, 1))
			cluster.Eventually(t, patience, func() error {
				left := w.jobsLeft()
				return cluster.Want(left < jobs-perSecond, "%d Jobs left", left)
			})
			test.stop(w, s)
			acknowledged := time.Now()
			time.Sleep(2500 * time.Millisecond) // more than the second in which DELETEs may follow
			mu.Lock()
			defer mu.Unlock()
			if late := last.Sub(acknowledged); late > time.Second || w.jobsLeft() == 0 {
				t.Errorf("the last DELETE was sent %v after the command; %d Jobs are left", late, w.jobsLeft())
			}
		})
	}
}

// stopping returns the command on the page about stopping that begins with these words.
func (w *env) stopping(words string) string {
	w.Helper()
	page, err := os.ReadFile("../../docs/tasks/stop-deletions.md")
	expect.NoError(w, err)
	for _, c := range commandsOf(string(page)) {
		if strings.HasPrefix(c.command, words) {
			return c.command
		}
	}
	w.Fatalf("no command %s", words)
	return ""
}

// kubectl runs a command of kubectl.
func (w *env) kubectl(command string) {
	w.Helper()
	run := exec.CommandContext(w.Context(), "bash", "-c", command)
	run.Env = w.withKubectl()
	if out, err := run.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// stoppable is a controller with a policy. start starts the controller again after stop.
type stoppable struct {
	start, stop func()
	policy      *v1alpha1.ClusterRetentionPolicy
}

// TestResumeOnlyWhatSuspendStopped: a user who sets the mode leaves the annotation of suspend on the policy.
func TestResumeOnlyWhatSuspendStopped(t *testing.T) {
	w := newEnv(t)
	p := w.policy("jobs", suspendedJobs)
	modeAfter := func(args ...string) v1alpha1.Mode {
		t.Helper()
		t.Log(w.plugin(args...))
		expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(p), p))
		return p.Spec.Mode
	}
	expect.Equal(t, "suspended", v1alpha1.Suspend, modeAfter("suspend", "--all"))
	expect.Equal(t, "resumed", v1alpha1.Enforce, modeAfter("resume", "--all"))
	expect.Equal(t, "suspended again", v1alpha1.Suspend, modeAfter("suspend", p.Name))
	for _, mode := range []v1alpha1.Mode{v1alpha1.DryRun, v1alpha1.Suspend} {
		w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = mode })
	}
	expect.Equal(t, "suspended by a user", v1alpha1.Suspend, modeAfter("resume", "--all"))
}

// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

const jobPolicy = "../../../samples/finished-jobs/policy.yaml"

// job is a finished Job of about 1.8 KB, in the format of a list by kubectl get -o yaml.
const job = `- apiVersion: batch/v1
  kind: Job
  metadata:
    creationTimestamp: "2026-02-27T06:00:00Z"
    generation: 1
    labels:
      batch.kubernetes.io/controller-uid: a05d8dcf-4240-4537-aaf6-%012[1]d
      batch.kubernetes.io/job-name: report-%06[1]d
    name: report-%06[1]d
    namespace: team-%02[2]d
    resourceVersion: "%[1]d"
    uid: a05d8dcf-4240-4537-aaf6-%012[1]d
  spec:
    backoffLimit: 3
    completionMode: NonIndexed
    completions: 1
    manualSelector: false
    parallelism: 1
    podReplacementPolicy: TerminatingOrFailed
    selector:
      matchLabels:
        batch.kubernetes.io/controller-uid: a05d8dcf-4240-4537-aaf6-%012[1]d
    suspend: false
    template:
      metadata:
        labels:
          batch.kubernetes.io/controller-uid: a05d8dcf-4240-4537-aaf6-%012[1]d
          batch.kubernetes.io/job-name: report-%06[1]d
      spec:
        containers:
        - args:
          - --once
          image: registry.example.com/data/report:1.14.2
          imagePullPolicy: IfNotPresent
          name: main
          resources:
            requests:
              cpu: 500m
              memory: 256Mi
        dnsPolicy: ClusterFirst
        restartPolicy: Never
        schedulerName: default-scheduler
        terminationGracePeriodSeconds: 30
  status:
    completionTime: "2026-02-27T06:10:00Z"
    conditions:
    - lastProbeTime: "2026-02-27T06:10:00Z"
      lastTransitionTime: "2026-02-27T06:10:00Z"
      message: Reached expected number of succeeded pods
      reason: CompletionsReached
      status: "True"
      type: SuccessCriteriaMet
    - lastProbeTime: "2026-02-27T06:10:00Z"
      lastTransitionTime: "2026-02-27T06:10:00Z"
      message: Reached expected number of succeeded pods
      reason: CompletionsReached
      status: "True"
      type: Complete
    ready: 0
    startTime: "2026-02-27T06:00:00Z"
    succeeded: 1
    terminating: 0
    uncountedTerminatedPods: {}
`

// writeJobs writes a list of n Jobs to a file.
func writeJobs(t testing.TB, n int) string {
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	f, err := os.Create(path)
	expect.NoError(t, err)
	defer func() { _ = f.Close() }()
	w := bufio.NewWriter(f)
	defer func() { _ = w.Flush() }()
	fmt.Fprint(w, "apiVersion: v1\nitems:\n")
	for i := range n {
		fmt.Fprintf(w, job, i, i%50)
	}
	fmt.Fprint(w, "kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return path
}

// stream evaluates the Jobs of a file. It calls watch with the number of each.
func stream(t testing.TB, path string, watch func(n int)) *preview.Result {
	compiler := fixture.Compiler(t)
	loader := load.NewLoader(compiler, policy.DefaultProtection())
	files, err := manifests.Open(resource.FilenameOptions{Filenames: []string{jobPolicy, path}}, nil)
	expect.NoError(t, err)
	defer func() { _ = files.Close() }()
	in, err := load.Skim(files, loader)
	expect.NoError(t, err)
	in.Enforce()
	judge := preview.New(preview.Input{Compiler: compiler, Policies: in.Rules(), Programs: loader.Programs, Protection: loader.Protection, At: at})
	fromFiles, n := files.Feed(), 0
	result, err := judge.Run(t.Context(), func(yield func(preview.Batch) error) error {
		return fromFiles(func(b preview.Batch) error {
			n++
			watch(n)
			return yield(b)
		})
	})
	expect.NoError(t, err)
	return result
}

// TestFileIsNeverHeldWhole: a file of 5,000 Jobs has 9 MB, and takes 200 MB when decoded. Memory never holds more than a few
// Jobs and the rows.
func TestFileIsNeverHeldWhole(t *testing.T) {
	const jobs, most = 5000, 6 << 20
	path := writeJobs(t, jobs)
	before := int64(memory.Heap())
	var peak int64
	result := stream(t, path, func(n int) {
		if n%500 == 0 {
			peak = max(peak, int64(memory.Heap())-before)
		}
	})
	if len(result.Rows) != jobs {
		t.Errorf("%d decisions about %d Jobs", len(result.Rows), jobs)
	}
	if peak > most {
		t.Errorf("memory peaks at %d kB, want at most %d kB", peak>>10, most>>10)
	}
	t.Logf("memory peaks at %d kB", peak>>10)
}

// BenchmarkPreview evaluates 100,000 Jobs in one file of 190 MB. sys-MB is all memory that the process obtained from the
// system, without the page cache of the file.
func BenchmarkPreview(b *testing.B) {
	const jobs = 100_000
	path := writeJobs(b, jobs)
	for b.Loop() {
		if result := stream(b, path, func(int) {}); len(result.Rows) != jobs {
			b.Fatalf("%d decisions", len(result.Rows))
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "sys-MB")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/object")
}

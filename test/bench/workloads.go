// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// The namespaces of finished Workloads and of Jobs that wait for admission. The LocalQueue of the latter, its ClusterQueue
// and their flavor have the same name.
const kueueOld, kueueNew = "kueue-backlog", "kueue-new"

var workloads = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}

// kueueBacklog starts Kueue, configured as in its manifest, beside finished Workloads. It creates them before it starts
// Kueue: otherwise Kueue would treat them as new before they are finished.
func (l *environment) kueueBacklog(ctx context.Context) error {
	if err := l.plane.StartKueue(ctx, cluster.KueueOptions{}); err != nil {
		return err
	}
	if err := l.queues(ctx); err != nil {
		return err
	}
	if err := l.plane.Kill(cluster.Kueue); err != nil {
		return err
	}
	if err := l.finishedWorkloads(ctx); err != nil {
		return err
	}
	if err := l.plane.Restart(ctx, cluster.Kueue); err != nil {
		return err
	}
	return l.settle(ctx)
}

func (l *environment) queues(ctx context.Context) error {
	for _, name := range []string{kueueOld, kueueNew} {
		if err := ensureNamespace(ctx, l.client, name); err != nil {
			return err
		}
	}
	for _, text := range []string{
		`{kind: ResourceFlavor, metadata: {name: %[1]s}}`,
		`{kind: ClusterQueue, metadata: {name: %[1]s}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu],
		  flavors: [{name: %[1]s, resources: [{name: cpu, nominalQuota: 1000000}]}]}]}}`,
		`{kind: LocalQueue, metadata: {namespace: %[1]s, name: %[1]s}, spec: {clusterQueue: %[1]s}}`,
	} {
		u, err := kueueObject(fmt.Sprintf(text, kueueNew))
		if err != nil {
			return err
		}
		if err := l.policy.Create(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func kueueObject(text string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	err := yaml.Unmarshal([]byte(text), &u.Object)
	u.SetAPIVersion(workloads.GroupVersion().String())
	return u, err
}

// finishedWorkload is a Workload that Kueue leaves for a Job, without an owner: the owner would not exist here.
const finishedWorkload = `
kind: Workload
metadata: {namespace: ` + kueueOld + `, name: %s, labels: {kueue.x-k8s.io/job-uid: 1d4a3915-e3f6-4abd-a85d-2d3c9cba1250}}
spec:
  active: true
  priority: 0
  queueName: etl
  podSets:
  - name: main
    count: 1
    topologyRequest: {podIndexLabel: batch.kubernetes.io/job-completion-index}
    template:
      metadata: {labels: {app: etl}}
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: registry.example.com/data/etl:1.14.2
          args: [--date, "2026-01-01", --full]
          env: [{name: REGION, value: eu-central-1}]
          resources: {requests: {cpu: "1"}}
status:
  admission: {clusterQueue: etl, podSetAssignments: [{name: main, count: 1, flavors: {cpu: any}, resourceUsage: {cpu: "1"}}]}
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: Quota reserved in ClusterQueue etl, lastTransitionTime: "%[2]s"}
  - {type: Admitted, status: "True", reason: Admitted, message: The workload is admitted, lastTransitionTime: "%[2]s"}
  - {type: Finished, status: "True", reason: Succeeded, message: Reached expected number of succeeded pods, lastTransitionTime: "%[2]s"}
`

func (l *environment) finishedWorkloads(ctx context.Context) error {
	client, err := dynamic.NewForConfig(l.plane.Config())
	if err != nil {
		return err
	}
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	return together(ctx, l.size.kueue, func(ctx context.Context, i int) error {
		u, err := kueueObject(fmt.Sprintf(finishedWorkload, fmt.Sprintf("job-etl-%06d", i), at))
		if err != nil {
			return err
		}
		created, err := client.Resource(workloads).Namespace(kueueOld).Create(ctx, u, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		created.Object["status"] = u.Object["status"]
		_, err = client.Resource(workloads).Namespace(kueueOld).UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
}

// workloadsLeft counts the backlog without reading the objects.
func (l *environment) workloadsLeft(ctx context.Context) (int, error) {
	client, err := metadata.NewForConfig(l.plane.Config())
	if err != nil {
		return 0, err
	}
	list, err := client.Resource(workloads).Namespace(kueueOld).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0)), nil
}

// workloadsGone waits until fewer than n are left, and returns how many.
func (l *environment) workloadsGone(ctx context.Context, n int) (int, error) {
	for {
		left, err := l.workloadsLeft(ctx)
		if err != nil || left < n {
			return left, err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return left, fmt.Errorf("none of %d Workloads was deleted: %w", n, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// snapshotDefinition defines VolumeSnapshots with any content. All scenarios share it.
const snapshotDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: volumesnapshots.snapshot.storage.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, test-only"}
spec:
  group: snapshot.storage.k8s.io
  scope: Namespaced
  names: {kind: VolumeSnapshot, listKind: VolumeSnapshotList, plural: volumesnapshots, singular: volumesnapshot}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// snapshotter stands for the snapshot controller and the CSI driver: it writes the status of the VolumeSnapshots of a scenario. The real
// ones run in test/integration.
type snapshotter struct {
	s *scenario.Scenario

	mu     sync.Mutex
	faulty func(status map[string]any) // changes the status that it writes, to nil for none; nil without a fault
}

// newSnapshotter starts a snapshotter, which ends with the test.
func newSnapshotter(s *scenario.Scenario) *snapshotter {
	s.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	expect.NoError(s, yaml.Unmarshal([]byte(snapshotDefinition), crd))
	if err := s.Create(s.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	n := &snapshotter{s: s}
	for _, server := range []scenario.Server{scenario.A, scenario.B} {
		c := s.Through(server, scenario.Patience())
		s.Eventually(func() error { _, err := n.listed(s.Context(), c); return err })
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { n.run(ctx) })
	s.Cleanup(func() { cancel(); ended.Wait() })
	return n
}

// breaks makes the snapshotter write another status from now on, also to VolumeSnapshots that have one; nil ends the fault.
func (n *snapshotter) breaks(faulty func(status map[string]any)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faulty = faulty
}

func (n *snapshotter) listed(ctx context.Context, c client.Client) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(policy.VolumeSnapshotKind)
	err := c.List(ctx, list, client.InNamespace(n.s.Namespace))
	return list.Items, err
}

func (n *snapshotter) run(ctx context.Context) {
	for ctx.Err() == nil {
		all, _ := n.listed(ctx, n.s.Client) // it lists again soon
		for i := range all {
			n.write(ctx, &all[i])
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// write writes the status of a VolumeSnapshot that is not ready to use. The storage system has taken it at once, and the claim has
// another version then, as with the finalizer of the real controller.
func (n *snapshotter) write(ctx context.Context, made *unstructured.Unstructured) {
	before := made.DeepCopy()
	was, _, _ := unstructured.NestedMap(made.Object, "status")
	if was["readyToUse"] == true {
		return
	}
	taken, known := was["creationTime"]
	if !known {
		taken = time.Now().UTC().Format(time.RFC3339)
	}
	status := map[string]any{"boundVolumeSnapshotContentName": "content-" + made.GetName(), "creationTime": taken, "readyToUse": true, "restoreSize": "1Gi"}
	n.mu.Lock()
	if n.faulty != nil {
		n.faulty(status)
	}
	n.mu.Unlock()
	if len(status) == 0 {
		return
	}
	made.Object["status"] = status
	if n.s.Client.Status().Patch(ctx, made, client.MergeFrom(before)) == nil && !known {
		n.touch(ctx, made)
	}
}

func (n *snapshotter) touch(ctx context.Context, made *unstructured.Unstructured) {
	name, _, _ := unstructured.NestedString(made.Object, "spec", "source", "persistentVolumeClaimName")
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = made.GetNamespace(), name
	_ = n.s.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"faults.sunset.test/taken":"`+made.GetName()+`"}}}`)))
}

// removeAll deletes all VolumeSnapshots, as a user.
func (n *snapshotter) removeAll() {
	n.s.Helper()
	all, err := n.listed(n.s.Context(), n.s.Client)
	expect.NoError(n.s, err)
	for i := range all {
		n.s.Remove(&all[i])
	}
}

// slow are VolumeSnapshots that are not ready to use.
func slow(status map[string]any) { status["readyToUse"] = false }

// failing are VolumeSnapshots with an error.
func failing(status map[string]any) {
	status["readyToUse"], status["error"] = false, map[string]any{"message": "no space is left"}
}

// absent is a controller that does not run.
func absent(status map[string]any) { clear(status) }

// outdated are VolumeSnapshots that were taken an hour ago.
func outdated(status map[string]any) {
	status["creationTime"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
}

// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/volumes"
)

const (
	storageClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: directories}
provisioner: ` + volumes.Name + `
reclaimPolicy: Delete
volumeBindingMode: Immediate
`
	snapshotClass = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: directories}
driver: ` + volumes.Name + `
deletionPolicy: Delete
`
	claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: directories
  resources: {requests: {storage: 1Gi}}
`
	snapshot = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: data, namespace: default}
spec:
  volumeSnapshotClassName: directories
  source: {persistentVolumeClaimName: data}
`
	restored = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: restored, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: directories
  resources: {requests: {storage: 1Gi}}
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: data}
`
)

// snapshotOutlivesClaim also ends all three components in between, and checks that snapshots fail and wait as the driver says.
func snapshotOutlivesClaim(t *testing.T, c *cluster.Cluster, kube kubernetes.Interface) {
	driver, err := c.StartVolumes(t.Context())
	expect.NoError(t, err)
	v := volumeTest{T: t, Client: generic(t, c), kube: kube, driver: driver}
	v.apply(storageClass, snapshotClass, claim)
	file := filepath.Join(driver.Volume(v.bound("data")), "file")
	expect.NoError(t, os.WriteFile(file, []byte("text"), 0o600))

	driver.Fail(errors.New("no space is left"))
	v.apply(snapshot)
	v.eventually(func(status map[string]any) error {
		message, _, _ := unstructured.NestedString(status, "error", "message")
		return cluster.Want(message != "", "snapshot has no error")
	})
	driver.Hold(true)
	driver.Fail(nil)
	v.eventually(func(status map[string]any) error {
		return cluster.Want(len(driver.Snapshots()) == 1 && status["readyToUse"] == false, "readyToUse is %v", status["readyToUse"])
	})
	expect.NoError(t, c.KillVolumes())
	driver.Hold(false)
	_, err = c.StartVolumes(t.Context())
	expect.NoError(t, err)
	v.eventually(func(status map[string]any) error {
		return cluster.Want(status["readyToUse"] == true, "snapshot is not ready: %v", status)
	})

	expect.NoError(t, kube.CoreV1().PersistentVolumeClaims(ns).Delete(t.Context(), "data", metav1.DeleteOptions{}))
	cluster.Eventually(t, time.Minute, func() error {
		n := len(driver.Volumes())
		return cluster.Want(n == 0, "%d volumes are left", n)
	})
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of the deleted volume: %v, want that it does not exist", err)
	}
	v.apply(restored)
	data, err := os.ReadFile(filepath.Join(driver.Volume(v.bound("restored")), "file"))
	if err != nil || string(data) != "text" {
		t.Errorf("file in the restored volume: %q, %v", data, err)
	}
}

// volumeTest has a client for kinds that have no Go types here.
type volumeTest struct {
	*testing.T
	client.Client
	kube   kubernetes.Interface
	driver *volumes.Driver
}

func generic(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	generic, err := client.New(c.Config(), client.Options{})
	expect.NoError(t, err)
	return generic
}

// apply creates objects from YAML.
func (v volumeTest) apply(texts ...string) {
	v.Helper()
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		expect.NoError(v, yaml.Unmarshal([]byte(text), &object.Object))
		expect.NoError(v, v.Create(v.Context(), object))
	}
}

// bound waits until a claim is bound, and returns the handle of its volume.
func (v volumeTest) bound(name string) (handle string) {
	v.Helper()
	cluster.Eventually(v, time.Minute, func() error {
		claim, err := v.kube.CoreV1().PersistentVolumeClaims(ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is %q, %v", name, claim.Status.Phase, err)
		}
		volume, err := v.kube.CoreV1().PersistentVolumes().Get(context.Background(), claim.Spec.VolumeName, metav1.GetOptions{})
		if err == nil {
			handle = volume.Spec.CSI.VolumeHandle
		}
		return err
	})
	return handle
}

// eventually waits until the status of the snapshot fulfils a check.
func (v volumeTest) eventually(check func(status map[string]any) error) {
	v.Helper()
	cluster.Eventually(v, time.Minute, func() error {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("snapshot.storage.k8s.io/v1")
		object.SetKind("VolumeSnapshot")
		if err := v.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: "data"}, object); err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(object.Object, "status")
		return check(status)
	})
}

// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// thereAndBack archives all kinds of objects, Secrets in an archive of their own, and deletes them.
const thereAndBack = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  archive: {to: OPEN, dependents: [Pod], events: true}
- name: configmaps
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  archive: {to: OPEN}
- name: builds
  target: {apiVersion: GROUP/v1, kind: Build}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  archive: {to: OPEN}
- name: secrets
  target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  archive: {to: SEALED}
`

// TestArchivedObjectsComeBack archives and deletes objects, and restores them with the command line. The records have what the API
// server had, and a finished Job does not run again.
func TestArchivedObjectsComeBack(t *testing.T) {
	w := newEnv(t)
	s := stores.S3(t)
	identity, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	open := w.archive("open", s)
	sealed := w.archive("sealed", s, func(spec *v1alpha1.ArchiveSpec) {
		spec.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{identity.Recipient().String()}}
	})
	kind := schema.GroupVersionKind{Group: w.namespace + ".example.com", Version: "v1", Kind: "Build"}
	w.define(kind, "builds", nil)
	seen := w.record("/apis/batch/v1/jobs", "/api/v1/configmaps", "/api/v1/secrets")

	job := w.job("report", cluster.Succeeded, 0)
	cm := w.configMap("settings", preview)
	cm.Data = map[string]string{"a": "<&>\u2028", "b": "1"}
	expect.NoError(t, w.Update(t.Context(), cm))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "token", Labels: preview}, Data: map[string][]byte{"token": []byte("s3cr3t")}}
	w.create(secret)
	build := w.finishedBuild(kind)
	w.finished(job)
	was := map[string]client.Object{"job": job.DeepCopy(), "cm": cm.DeepCopy(), "secret": secret.DeepCopy()}

	w.sunset()
	p := w.policy("comeback", strings.NewReplacer("OPEN", open.Name, "SEALED", sealed.Name, "GROUP", kind.Group).Replace(thereAndBack))
	w.gone(job, cm, secret, build)
	w.counted(p, has(4, 0))
	w.archiveReady(open, metav1.ConditionTrue, "Available")

	reader := w.bucket(s, "open")
	all := w.segmentsOf(reader)
	for name, object := range map[string]client.Object{"the Job": was["job"], "the ConfigMap": was["cm"]} {
		found, ok := all[objectVersion{object.GetUID(), object.GetResourceVersion()}]
		if !ok {
			t.Fatalf("%s is not in the archive; it has %d records", name, len(all))
		}
		w.seenBy(seen, found)
	}
	if pods := all[objectVersion{job.UID, was["job"].GetResourceVersion()}].Record.Dependents; len(pods) != 1 {
		t.Errorf("the record of the Job has %d dependents, want its Pod", len(pods))
	}
	sealedReader := w.bucket(s, "sealed")
	sealedReader.Identities = []age.Identity{identity}
	found, ok := w.segmentsOf(sealedReader)[objectVersion{secret.UID, was["secret"].GetResourceVersion()}]
	if !ok {
		t.Fatal("the Secret is not in the archive")
	}
	w.seenBy(seen, found)
	leaks(t, s.Dir, "s3cr3t", "czNjcjN0")

	key := filepath.Join(t.TempDir(), "key")
	expect.NoError(t, os.WriteFile(key, []byte(identity.String()+"\n"), 0o600))
	in := func(a *v1alpha1.RetentionArchive, command string, args ...string) string {
		t.Helper()
		return w.plugin(slices.Concat([]string{"archive", command, "--archive", a.Name}, args)...)
	}
	expect.NoError(t, contains(in(open, "ls", "-n", w.namespace), "report", "settings", "done"))
	expect.NoError(t, contains(in(open, "restore", "-n", w.namespace, "--finished"), "would be restored", "report", "settings", "done"))
	w.gone(job, cm, build)                                               // that was a dry run
	t.Log(in(open, "restore", "-n", w.namespace, "--yes", "--finished")) // no controller runs the Build again
	t.Log(in(sealed, "restore", "-n", w.namespace, "--yes", "--identity", key))
	t.Log(in(open, "verify"), in(sealed, "verify", "--identity", key))

	w.stays(3*time.Second, job, cm, secret, build) // each has a hold
	expect.Equal(t, "data of the ConfigMap", was["cm"].(*corev1.ConfigMap).Data, cm.Data)
	expect.Equal(t, "data of the Secret", was["secret"].(*corev1.Secret).Data, secret.Data)
	if conditionOf(build, "Complete")["status"] != "True" {
		t.Errorf("the custom resource was restored without its status: %v", build.Object["status"])
	}
	expect.Equal(t, "suspend of the Job", true, ptr.Deref(job.Spec.Suspend, false))
	if job.Status.Active+job.Status.Succeeded != 0 {
		t.Errorf("the restored Job runs: %+v", job.Status)
	}
	pods := &corev1.PodList{}
	expect.NoError(t, w.List(t.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{batchv1.JobNameLabel: "report"}))
	expect.Equal(t, "Pods of the restored Job", 0, len(pods.Items))
	if job.UID == was["job"].GetUID() || !isHeld(job) {
		t.Errorf("the Job was not restored with a hold: %v", job.ObjectMeta)
	}
}

func isHeld(o client.Object) bool {
	_, held := o.GetAnnotations()[v1alpha1.HoldAnnotation]
	return held
}

// leaks fails the test if a file below a directory contains one of the texts.
func leaks(t *testing.T, dir string, texts ...string) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if strings.Contains(string(data), text) {
				t.Errorf("%s contains %q", path, text)
			}
		}
		return err
	}))
}

const archivedPreviews = previews + "  archive: {to: %s}\n"

// TestArchiveWithoutItsStoreKeeps: while the store is down, nothing is deleted that archives there, and the policy and the
// RetentionArchive say so. Other policies continue. When the store is back, all objects go.
func TestArchiveWithoutItsStoreKeeps(t *testing.T) {
	w := newEnv(t)
	s := stores.S3(t)
	a := w.archive("history", s)
	w.sunset()
	p := w.policy("archived", fmt.Sprintf(archivedPreviews, "Enforce", "0s", a.Name))
	w.policy("plain", strings.Replace(fmt.Sprintf(previews, "Enforce", "0s"), "env: preview", "env: plain", 1))
	w.gone(w.configMap("before", preview))
	w.archiveReady(a, metav1.ConditionTrue, "Available")

	s.Kill()
	var kept []client.Object
	for i := range 5 {
		kept = append(kept, w.configMap(fmt.Sprint("kept-", i), preview))
	}
	w.gone(w.configMap("plain", map[string]string{"env": "plain"}))
	w.expect(p, v1alpha1.ConditionArchiving, "ArchiveUnavailable", a.Name)
	w.expect(p, v1alpha1.ConditionReady, "ArchiveUnavailable", a.Name)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionDelayed)
		return cluster.Want(c.Status == metav1.ConditionTrue && c.Reason == "ArchiveUnavailable", "Delayed is %s, %s", c.Status, c.Reason)
	})
	w.archiveReady(a, metav1.ConditionFalse, "ArchiveUnavailable")
	w.gone(w.configMap("later", map[string]string{"env": "plain"}))
	w.stays(3*time.Second, kept...)

	expect.NoError(t, s.Start(t.Context()))
	w.gone(kept...)
	w.counted(p, has(6, 0))
	w.archiveReady(a, metav1.ConditionTrue, "Available")
	if found := len(w.segmentsOf(w.bucket(s, "history"))); found < 6 {
		t.Errorf("the archive has %d records, want 6", found)
	}
}

// TestArchiveThatDoesNotExistKeeps: a rule that archives to nothing deletes nothing, until the RetentionArchive is created.
func TestArchiveThatDoesNotExistKeeps(t *testing.T) {
	w := newEnv(t)
	s := stores.Files(t)
	w.sunset()
	p := w.policy("archived", fmt.Sprintf(archivedPreviews, "Enforce", "0s", w.namespace+"-late"))
	cm := w.configMap("cm", preview)
	w.expect(p, v1alpha1.ConditionArchiving, "ArchiveUnavailable", w.namespace+"-late")
	w.stays(2*time.Second, cm)
	w.archive("late", s)
	w.gone(cm)
}

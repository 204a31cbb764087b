// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// TestStorageAcrossARestart: the sums of sizes in status continue after a restart of the controller. An object without a size does not
// count, and sizes may be quantities.
func TestStorageAcrossARestart(t *testing.T) {
	w := newEnv(t)
	stop := w.sunset()
	p := w.policy("storage", `
mode: Enforce
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttlExpression: "object.metadata.name.startsWith('later') ? duration('5h') : duration('0s')"
  bytes: object.?data.?size
`)
	create := func(name, size string) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: preview}}
		if size != "" {
			cm.Data = map[string]string{"size": size}
		}
		w.create(cm)
	}
	sums := func(deleted, objects, day int64) {
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(s.Deleted == objects && s.Storage != nil && s.Storage.Estimated && s.Storage.DeletedSince != nil &&
				s.Storage.Deleted.Bytes == deleted && s.Storage.Due.Hour.Bytes == 0 && s.Storage.Due.Day.Bytes == day,
				"want %d bytes of %d deleted objects, and %d bytes due within a day", deleted, objects, day)
		})
	}
	create("later-0", "2Ki")
	create("now-0", "1000")
	create("now-1", "")
	sums(1000, 2, 2048)
	stop()
	create("later-1", "1Ki")
	create("now-2", "1Mi")
	w.sunset()
	sums(1000+1<<20, 3, 3072)
}

// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestSecretDataEntersNoMemory searches the memory of a separate controller whose rules select Secrets: it contains their
// names and none of their data. The annotation of kubectl apply is part of the metadata and passes through memory; it must
// not appear in logs, status or Events.
func TestSecretDataEntersNoMemory(t *testing.T) {
	w := newEnv(t)
	p := w.policy("secrets", strings.Replace(andSecrets, "Enforce", "DryRun", 1))
	text, applied := "text-"+rand.String(40), "text-"+rand.String(40)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "name-" + rand.String(40)},
		StringData: map[string]string{"password": text},
	}
	w.create(secret)
	w.secret("applied", "", map[string]string{corev1.LastAppliedConfigAnnotation: fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"applied"},"stringData":{"password":%q}}`, applied)})
	controller := controller(t, proxy.New(t, w.plane.Config()), "--leader-elect=false", "--zap-log-level=10")
	held := func(want int64) {
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(s.Matched == 2 && s.Eligible == 2 && s.Held == want, "not counted")
		})
	}
	held(0)
	w.annotate(secret, `"true"`) // delivers the Secret through the watch too
	held(1)

	memory := readMemory(t, controller.Process.Pid)
	if !bytes.Contains(memory, []byte(secret.Name)) {
		t.Fatal("the name of the Secret was not found in memory")
	}
	for _, form := range forms(text) {
		if bytes.Contains(memory, []byte(form)) {
			t.Errorf("%s is in memory", form)
		}
	}
	controller.stop(t)
	w.tellsNothingOf(p, controller.log.String(), text, applied)
}

// forms returns the forms in which the API server stores a text of a Secret.
func forms(text string) []string {
	return []string{text, base64.StdEncoding.EncodeToString([]byte(text))}
}

// tellsNothingOf checks that the log, the status and Events do not contain the data of a Secret.
func (w *env) tellsNothingOf(p *v1alpha1.ClusterRetentionPolicy, log string, texts ...string) {
	w.Helper()
	current := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	expect.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(current), current))
	events := &eventsv1.EventList{}
	expect.NoError(w, w.List(w.Context(), events))
	for where, object := range map[string]any{"the log": log, "status": current.Status, "Events": events.Items} {
		told, err := yaml.Marshal(object)
		expect.NoError(w, err)
		for _, text := range texts {
			for _, form := range forms(text) {
				if bytes.Contains(told, []byte(form)) {
					w.Errorf("%s is in %s", form, where)
				}
			}
		}
	}
}

// readMemory returns all writable memory of a process.
func readMemory(t *testing.T, pid int) []byte {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	expect.NoError(t, err)
	defer func() { _ = maps.Close() }()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	expect.NoError(t, err)
	defer func() { _ = memory.Close() }()
	var all []byte
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uint64
		var rights string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(rights, "rw") {
			continue
		}
		part := make([]byte, to-from)
		n, _ := memory.ReadAt(part, int64(from)) // ignore unreadable pages
		all = append(all, part[:n]...)
	}
	return all
}

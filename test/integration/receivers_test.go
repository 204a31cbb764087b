// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// silent accepts connections and sends nothing. It remembers when they were open.
type silent struct {
	url string

	mu          sync.Mutex
	connections [][2]time.Time // when each began and ended; the end is zero while it is open
}

func newSilent(t *testing.T, at net.IP) *silent {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(at.String(), "0"))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := &silent{url: "https://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go s.hang(connection)
		}
	}()
	return s
}

// hang waits until the other side closes the connection.
func (s *silent) hang(connection net.Conn) {
	s.mu.Lock()
	i := len(s.connections)
	s.connections = append(s.connections, [2]time.Time{time.Now()})
	s.mu.Unlock()
	_, _ = io.Copy(io.Discard, connection)
	_ = connection.Close()
	s.mu.Lock()
	s.connections[i][1] = time.Now()
	s.mu.Unlock()
}

// attempts returns the number of connections, and whether one of them was open at a time.
func (s *silent) attempts(at time.Time) (n int, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections), slices.ContainsFunc(s.connections, func(c [2]time.Time) bool {
		return c[0].Before(at) && (c[1].IsZero() || c[1].After(at))
	})
}

// lies sends a response that is not HTTP.
func lies(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(connection, "OK, I have it\r\n")
	_ = connection.Close()
}

// breaksOff accepts the digest, and closes the connection within the body of its response.
func breaksOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, "half of it")
}

// TestReceiversDelayNoDeletion: more receivers hang than Sunset sends to at the same time, and others lie. Objects are deleted when
// they are due, also while receivers hang. Sunset retries those that hang, and the others get their digests.
func TestReceiversDelayNoDeletion(t *testing.T) {
	at := address(t)
	const hanging = 6 // receivers
	w := newEnv(t)
	hangs := newSilent(t, at)
	receivers := map[string]func() (url string, bundle []byte){
		"lies":       func() (string, []byte) { return serve(t, at, lies) },
		"breaks-off": func() (string, []byte) { return serve(t, at, breaksOff) },
		"accepts":    func() (string, []byte) { return serve(t, at, func(http.ResponseWriter, *http.Request) {}) },
	}
	for i := range hanging {
		receivers[fmt.Sprint("hangs-", i)] = func() (string, []byte) { return hangs.url, nil }
	}
	digests := map[string]*v1alpha1.RetentionDigest{}
	for name, start := range receivers {
		url, bundle := start()
		d := newDigest(w.namespace+"-"+name, url)
		d.Spec.Webhook.CABundle, d.Spec.Namespaces = bundle, []string{w.namespace}
		w.temporary(d)
		d.Status.ScheduleTime = &metav1.Time{Time: time.Now().Add(-time.Hour)} // so that one is due at once
		expect.NoError(t, w.Status().Update(t.Context(), d))
		digests[name] = d
	}
	g := proxy.New(t, w.plane.Config())
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	w.policy("previews", strings.ReplaceAll(fmt.Sprintf(previews, "Enforce", "0s"), "object.metadata.creationTimestamp", "timestamp(object.data.at)"))

	// On a slow machine, deletions are late too: the test goes on until enough of them were not.
	due, during := map[string]time.Time{}, 0
	cluster.Eventually(t, 3*patience, func() error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprint("cm-", len(due)), Labels: preview}}
		due[cm.Name] = time.Now().Add(time.Second).Truncate(time.Millisecond)
		cm.Data = map[string]string{"at": due[cm.Name].UTC().Format(time.RFC3339Nano)}
		w.create(cm)
		w.gone(cm)
		during = 0
		var late time.Duration
		for _, e := range g.Journal() {
			if e.Verb != "delete" || e.Resource != "configmaps" || e.Namespace != w.namespace {
				continue
			}
			if e.At.Before(due[e.Name]) {
				t.Fatalf("%s was deleted at %s, and is due at %s", e.Name, e.At, due[e.Name])
			}
			late = max(late, e.At.Sub(due[e.Name]))
			// A deletion that waits for a receiver would go when the attempt ends, after ten seconds.
			if _, open := hangs.attempts(e.At); open && e.At.Sub(due[e.Name]) < 2*time.Second {
				during++
			}
		}
		attempts, _ := hangs.attempts(time.Now())
		t.Logf("%d objects deleted, %d of them while a receiver hung; %s late at most; %d attempts", len(due), during, late, attempts)
		return cluster.Want(during >= 5 && attempts > hanging, "%d deletions in time while a receiver hung, in %d attempts", during, attempts)
	})
	for name, d := range digests {
		refused := name == "lies" || strings.HasPrefix(name, "hangs")
		cluster.Eventually(t, patience, func() error {
			err := w.Get(t.Context(), client.ObjectKeyFromObject(d), d)
			ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
			return cmp.Or(err, cluster.Want(ready != nil && (ready.Reason == "NotAccepted") == refused && (d.Status.AcceptedTime == nil) == refused,
				"digest %s has the status %+v", name, d.Status))
		})
	}
}

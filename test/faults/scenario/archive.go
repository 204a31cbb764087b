// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
	"github.com/sunset-k8s/sunset/test/stores"
)

// archiveRecovers is how long after a fault of its store an archive may still wait: for the timeout of a write, and for the delay before it retries.
const archiveRecovers = 100 * time.Second

// archivePrefix is the prefix of an archive in its bucket.
const archivePrefix = "cluster"

// Archive is a RetentionArchive whose store is an S3 server behind a proxy.
type Archive struct {
	Name  string // of the RetentionArchive
	Store *stores.Store
	Proxy *stores.Proxy
}

// Archive creates a RetentionArchive with a store of its own. The check at the end compares every DELETE of its rules with the store.
func (s *Scenario) Archive(name string) *Archive {
	s.Helper()
	a := &Archive{Name: s.Namespace + "-" + name}
	var err error
	a.Store, err = stores.Open(context.WithoutCancel(s.Context())) // it is read after the test
	expect.NoError(s, err)
	a.Proxy, err = stores.OpenProxy(a.Store)
	expect.NoError(s, err)
	s.mu.Lock()
	s.archives = append(s.archives, a)
	s.mu.Unlock()
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Home, Name: name}, Data: a.Store.Credentials}
	s.MustCreate(keys)
	s.MustCreate(&v1alpha1.RetentionArchive{
		ObjectMeta: metav1.ObjectMeta{Name: a.Name},
		Spec: v1alpha1.ArchiveSpec{
			URL:         a.Store.URLAt(a.Proxy.Address(), archivePrefix),
			Credentials: &v1alpha1.SecretReference{Namespace: keys.Namespace, Name: keys.Name},
		},
	})
	return a
}

// Expect makes the run void unless the fault has affected a request.
func (a *Archive) Expect(s *Scenario, fault *stores.Armed) *stores.Armed {
	s.ExpectThat("a fault of the store that fired", func() bool { return fault.Fired() > 0 })
	return fault
}

// read returns what the archive has, and when each segment was read back.
func (a *Archive) read() (*history.Archive, error) {
	read, err := history.ReadArchive(filepath.Join(a.Store.Dir, archivePrefix))
	if err != nil {
		return nil, err
	}
	journal := a.Proxy.Journal()
	slices.SortFunc(journal, func(a, b stores.Entry) int { return a.Done.Compare(b.Done) })
	read.VerifiedBy(func(yield func(name, digest string, at time.Time) bool) {
		for _, e := range journal {
			if e.Method == http.MethodGet && e.Code == http.StatusOK && !e.Done.IsZero() && !yield(e.Name, e.Digest, e.Done) {
				return
			}
		}
	})
	return read, nil
}

// disturbed returns when faults of the store may have delayed deletions.
func (a *Archive) disturbed(ended time.Time) (spans []span) {
	a.Proxy.Disturbed(ended, func(from, to time.Time) {
		spans = append(spans, span{From: from, To: to.Add(archiveRecovers)})
	})
	return spans
}

// Logged makes a text the whole log of a container for replicas that start with Logs: fake nodes have no logs.
func (s *Scenario) Logged(pod *corev1.Pod, container, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs == nil {
		s.logs = map[history.Container]string{}
	}
	s.logs[history.Container{Namespace: pod.Namespace, Pod: pod.Name, Name: container}] = text
}

// Logs answers the requests of a replica for logs, as Logged has them. It is for Start.Before.
func (s *Scenario) Logs(r *Replica) {
	reads := proxy.Requests("get", "pods/log")
	r.Proxy.Answers(func(request *http.Request) *proxy.Answer {
		path := strings.Split(request.URL.Path, "/") // /api/v1/namespaces/NAMESPACE/pods/NAME/log
		if !reads(request) {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		text, known := s.logs[history.Container{Namespace: path[4], Pod: path[6], Name: request.URL.Query().Get("container")}]
		if !known {
			return nil
		}
		return &proxy.Answer{Code: http.StatusOK, Body: []byte(text)}
	})
}

// closeArchives ends the stores.
func (s *Scenario) closeArchives() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.archives {
		a.Proxy.Close()
		if err := a.Store.Close(); err != nil {
			s.Error(err)
		}
	}
}

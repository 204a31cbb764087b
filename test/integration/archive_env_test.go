// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// archive creates a RetentionArchive in a store, with its credentials, and deletes it at the end of the test.
func (w *env) archive(name string, s *stores.Store, adjust ...func(*v1alpha1.ArchiveSpec)) *v1alpha1.RetentionArchive {
	w.Helper()
	a := &v1alpha1.RetentionArchive{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name}, Spec: v1alpha1.ArchiveSpec{URL: s.URL(name)}}
	if s.Credentials != nil {
		keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "keys-" + name}, Data: s.Credentials}
		w.create(keys)
		a.Spec.Credentials = &v1alpha1.SecretReference{Namespace: keys.Namespace, Name: keys.Name}
	}
	for _, change := range adjust {
		change(&a.Spec)
	}
	w.temporary(a)
	return a
}

// bucket opens a prefix of a store.
func (w *env) bucket(s *stores.Store, prefix string) *archive.Reader {
	w.Helper()
	b, err := store.Open(w.Context(), s.URL(prefix), s.Credentials)
	expect.NoError(w, err)
	w.Cleanup(func() { _ = b.Close() })
	return &archive.Reader{Bucket: b}
}

// segmentsOf returns all records of an archive, by UID and resourceVersion.
func (w *env) segmentsOf(r *archive.Reader) map[objectVersion]archive.Found {
	w.Helper()
	all := map[objectVersion]archive.Found{}
	for segment, err := range r.Bucket.List(w.Context(), archive.SegmentPrefix) {
		expect.NoError(w, err)
		for found, err := range r.Records(w.Context(), segment.Name) {
			expect.NoError(w, err)
			all[objectVersion{found.UID, found.ResourceVersion}] = found
		}
	}
	return all
}

// archiveReady waits until a condition of a RetentionArchive has a status.
func (w *env) archiveReady(a *v1alpha1.RetentionArchive, want metav1.ConditionStatus, reason string) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ArchiveReady)
		if c == nil {
			return errors.New("it has no condition Ready")
		}
		return cluster.Want(c.Status == want && c.Reason == reason, "Ready is %s, %s: %s", c.Status, c.Reason, c.Message)
	})
}

// objectVersion identifies one version of an object.
type objectVersion struct {
	uid             types.UID
	resourceVersion string
}

// recording has what the API server sent about objects, by version.
type recording struct {
	mu  sync.Mutex
	all map[objectVersion]json.RawMessage
}

// record watches a collection until the test ends, independent of any client library.
func (w *env) record(paths ...string) *recording {
	w.Helper()
	config := w.plane.Config()
	c, err := rest.HTTPClientFor(config)
	expect.NoError(w, err)
	seen := &recording{all: map[objectVersion]json.RawMessage{}}
	ctx, cancel := context.WithCancel(w.Context())
	w.Cleanup(cancel)
	for _, path := range paths {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path+"?watch=true", nil)
		expect.NoError(w, err)
		r.Header.Set("Accept", "application/json")
		answer, err := c.Do(r)
		expect.NoError(w, err)
		if answer.StatusCode != http.StatusOK {
			w.Fatalf("watch %s: %s", path, answer.Status)
		}
		go func() {
			defer func() { _ = answer.Body.Close() }()
			seen.read(bufio.NewReaderSize(answer.Body, 1<<20))
		}()
	}
	return seen
}

func (r *recording) read(from *bufio.Reader) {
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return // the test has ended
		}
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(line, &event) != nil || event.Type == "DELETED" || json.Unmarshal(event.Object, &object) != nil {
			continue // a DELETED event has another resourceVersion than any version that existed
		}
		r.mu.Lock()
		r.all[objectVersion{object.UID, object.ResourceVersion}] = event.Object
		r.mu.Unlock()
	}
}

// seenBy waits until a watch has seen the version of a record, and compares both.
func (w *env) seenBy(r *recording, found archive.Found) {
	w.Helper()
	cluster.Eventually(w, patience, func() error { return r.check(found) })
}

// check compares a record with the version that the watch has seen.
func (r *recording) check(found archive.Found) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, ok := r.all[objectVersion{found.UID, found.ResourceVersion}]
	if !ok {
		return fmt.Errorf("the watch has not seen resourceVersion %s of %s %s", found.ResourceVersion, found.Kind, found.Name)
	}
	want, err := canonical(seen)
	got, wrong := canonical(found.Record.Object)
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	return cluster.Want(bytes.Equal(got, want), "the archived object is\n%s\nand the API server had\n%s", got, want)
}

// canonical sorts the fields of JSON and keeps its numbers.
func canonical(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

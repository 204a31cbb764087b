// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// spec is a RetentionArchive as the worker uses it.
type spec struct {
	object    *v1alpha1.RetentionArchive
	retention archive.Retention
	encryption
}

// encryption says how segments and index objects are encrypted. The zero encryption is not known.
type encryption struct {
	recipients []string // none if they are not encrypted
	parsed     []age.Recipient
	builder    *archive.Builder
}

// specOf reads a RetentionArchive. The error says what is invalid; then the spec is not complete.
func specOf(a *v1alpha1.RetentionArchive) (spec, error) {
	read, problems := settings.Load(a.Spec)
	if len(problems) > 0 {
		return spec{object: a}, errors.New(strings.Join(policy.Lines(problems), "; "))
	}
	e := encryption{parsed: read.Recipients, builder: archive.NewBuilder(read.Recipients...)}
	if a.Spec.Encryption != nil {
		e.recipients = a.Spec.Encryption.Recipients
	}
	return spec{object: a, retention: archive.Retention{Retain: read.Retain, Holds: a.Spec.LegalHolds}, encryption: e}, nil
}

// opened is the store that is open, and what it was opened with.
type opened struct {
	store       Store
	url         string
	credentials map[string][]byte
	at          time.Time // when the credentials were read
}

// credentialsLife is how long credentials are used without reading the Secret again. After a failure they are read at once.
const credentialsLife = time.Minute

// open returns the store. It opens it again if the RetentionArchive or the credentials have changed.
func (w *worker) open(ctx context.Context) (Store, error) {
	if err := w.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer w.opening.Release(1)
	w.mu.Lock()
	s, failure, o := w.spec, w.failure(), &w.opened
	w.mu.Unlock()
	same := o.store != nil && o.url == s.object.Spec.URL
	if same && failure == nil && w.manager.Clock.Since(o.at) < credentialsLife {
		return o.store, nil
	}
	credentials, err := w.manager.credentials(ctx, s.object.Spec.Credentials)
	if err != nil {
		return nil, err
	}
	o.at = w.manager.Clock.Now()
	if same && maps.EqualFunc(o.credentials, credentials, bytes.Equal) {
		return o.store, nil
	}
	opened, err := w.manager.Options.Open(ctx, s.object.Spec.URL, credentials)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.object.Spec.URL, err)
	}
	if o.store != nil {
		_ = o.store.Close()
	}
	o.store, o.url, o.credentials = opened, s.object.Spec.URL, credentials
	return opened, nil
}

// closeStore closes the store of a worker that no longer uses it.
func (w *worker) closeStore() {
	_ = w.opening.Acquire(context.Background(), 1)
	defer w.opening.Release(1)
	if w.opened.store != nil {
		_ = w.opened.store.Close()
		w.opened.store = nil
	}
}

// Write implements archive.Writer. Like Delete, it does nothing unless this process leads.
func (w *worker) Write(ctx context.Context, name string, data []byte) error {
	b, err := w.writable(ctx)
	if err != nil {
		return err
	}
	return b.Write(ctx, name, data)
}

// Delete implements archive.Writer.
func (w *worker) Delete(ctx context.Context, name string) error {
	b, err := w.writable(ctx)
	if err != nil {
		return err
	}
	return b.Delete(ctx, name)
}

// writable returns the store as it is open now, with the present credentials, if this process leads.
func (w *worker) writable(ctx context.Context) (Store, error) {
	if err := w.manager.mayWrite(); err != nil {
		return nil, err
	}
	return w.open(ctx)
}

// credentials reads the Secret with the credentials of a store; nil for the identity of the process.
func (m *Manager) credentials(ctx context.Context, from *v1alpha1.SecretReference) (map[string][]byte, error) {
	if from == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	if err := m.Live.Get(ctx, types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s with the credentials: %w; with the chart, add its name to archive.secrets", from.Namespace, from.Name, err)
	}
	if len(secret.Data) == 0 {
		return nil, fmt.Errorf("no credentials in Secret %s/%s", from.Namespace, from.Name)
	}
	return secret.Data, nil
}

// mayWrite returns an error unless this process certainly leads.
func (m *Manager) mayWrite() error {
	return m.Leadership.Check()
}

// mayRecord returns an error unless this process certainly leads and its clock is right.
func (m *Manager) mayRecord(ctx context.Context) error {
	if err := m.mayWrite(); err != nil {
		return err
	}
	return m.Decider.Check(ctx)
}

// clusterID is the UID of the namespace kube-system, which identifies the cluster in records; empty until it is known.
func (m *Manager) clusterID() string {
	if id := m.cluster.Load(); id != nil {
		return *id
	}
	return ""
}

// identify reads the UID of the cluster.
func (m *Manager) identify(ctx context.Context) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := m.Live.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, namespace); err == nil {
		id := string(namespace.UID)
		m.cluster.Store(&id)
	}
}

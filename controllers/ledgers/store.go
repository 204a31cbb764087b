// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	requestTimeout = 10 * time.Second
	pageSize       = 250
)

// store writes an update, and returns the stored ledger.
func (m *Manager) store(ctx context.Context, update *ledger.Update) (*v1alpha1.RetentionLedger, error) {
	object := update.Object()
	if err := m.update(ctx, object); err != nil {
		return nil, fmt.Errorf("write RetentionLedger %s: %w", object.Name, err)
	}
	return object, nil
}

// update writes a ledger. Like create and remove, it writes nothing unless this process certainly leads.
func (m *Manager) update(ctx context.Context, l *v1alpha1.RetentionLedger) error {
	if err := m.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return m.Client.Update(ctx, l)
}

func (m *Manager) create(ctx context.Context, l *v1alpha1.RetentionLedger) error {
	if err := m.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return m.Client.Create(ctx, l)
}

// remove deletes the ledger that was read. If another object has its name, it deletes nothing.
func (m *Manager) remove(ctx context.Context, l *v1alpha1.RetentionLedger) error {
	if err := m.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return m.Client.Delete(ctx, l.DeepCopy(), client.Preconditions{UID: &l.UID})
}

// get reads a ledger. If the error is ErrNewer, it also returns the parts that this version understands.
func (m *Manager) get(ctx context.Context, uid types.UID) (*v1alpha1.RetentionLedger, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1alpha1.RetentionLedgerKind)
	if err := m.Live.Get(ctx, types.NamespacedName{Name: string(uid)}, stored); err != nil {
		return nil, err
	}
	return understand(stored)
}

// list reads all ledgers.
func (m *Manager) list(ctx context.Context) (all []unstructured.Unstructured, err error) {
	page := &unstructured.UnstructuredList{}
	page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.RetentionLedgerKind.Kind + "List"))
	for {
		asked, cancel := context.WithTimeout(ctx, requestTimeout)
		err := m.Live.List(asked, page, client.Limit(pageSize), client.Continue(page.GetContinue()))
		cancel()
		if err != nil {
			return nil, fmt.Errorf("list RetentionLedgers: %w", err)
		}
		all = append(all, page.Items...)
		if page.GetContinue() == "" {
			return all, nil
		}
	}
}

// readPolicy reads the status of a policy. If another policy has its name, the error is NotFound.
func (m *Manager) readPolicy(ctx context.Context, p v1alpha1.LedgerPolicy) (v1alpha1.RetentionPolicyStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var (
		object client.Object
		status *v1alpha1.RetentionPolicyStatus
	)
	if p.Namespace != "" {
		r := &v1alpha1.RetentionPolicy{}
		object, status = r, &r.Status
	} else {
		c := &v1alpha1.ClusterRetentionPolicy{}
		object, status = c, &c.Status
	}
	err := m.Live.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, object)
	if err == nil && object.GetUID() != p.UID {
		err = apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("policies").GroupResource(), p.Name)
	}
	return *status, err
}

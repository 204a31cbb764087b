// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// pageSize is the number of policies that are read at a time.
const pageSize = 100

// compose reads the policies of a digest and counts objects.
func (n *Notifier) compose(ctx context.Context, d *digest.Digest, scheduled time.Time, last *v1alpha1.DigestStatus) (*digest.Content, []v1alpha1.DigestCount, error) {
	in := digest.Input{Scheduled: scheduled, Now: n.Clock.Now(), Last: last}
	var err error
	if d.Namespaces() != nil {
		if in.Stats, err = n.count(d.Namespaces(), in.Now); err != nil {
			return nil, nil, err
		}
	}
	if in.Sources, err = n.sources(ctx, d); err != nil {
		return nil, nil, err
	}
	content, counts := d.Compose(in)
	return content, counts, nil
}

// count counts the objects in some namespaces.
func (n *Notifier) count(namespaces sets.Set[string], now time.Time) (*policy.Stats, error) {
	if n.Complete != nil && !n.Complete() {
		return nil, errors.New("the policies are not read yet")
	}
	stats := policy.NewStats(now)
	stats.Prices = n.Prices
	for _, k := range n.State.Kinds() {
		if _, synced := k.Index.Len(); !synced && k.Lost == nil {
			return nil, fmt.Errorf("the objects of kind %s are not listed yet", k.Kind.Kind)
		}
		k.Index.ScanNamespaces(namespaces, stats.AddAfter)
	}
	return stats, nil
}

// sources reads the policies that a digest selects, with their status, and the ledgers that it needs.
func (n *Notifier) sources(ctx context.Context, d *digest.Digest) (all []digest.Source, err error) {
	add := func(o *metav1.ObjectMeta, mode v1alpha1.Mode, rules []v1alpha1.Rule, status v1alpha1.RetentionPolicyStatus) {
		if d.Selects(o.Namespace, o.Name) {
			all = append(all, digest.Source{
				Kind: v1alpha1.PolicyKind(o.Namespace).Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, Created: o.CreationTimestamp.Time,
				Mode: mode, Rules: rules, Status: status,
			})
		}
	}
	err = pages(ctx, n.Live, "", func(page *v1alpha1.ClusterRetentionPolicyList) {
		for _, p := range page.Items {
			add(&p.ObjectMeta, p.Spec.Mode, p.Spec.Rules, p.Status)
		}
	})
	if err != nil {
		return nil, err
	}
	namespaces := []string{""}
	if d.Namespaces() != nil {
		namespaces = sets.List(d.Namespaces())
	}
	for _, namespace := range namespaces {
		err := pages(ctx, n.Live, namespace, func(page *v1alpha1.RetentionPolicyList) {
			for _, p := range page.Items {
				add(&p.ObjectMeta, p.Spec.Mode, p.Spec.Rules, p.Status)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, n.addLedgers(ctx, d, all)
}

// pages reads a list page by page. Each page is a new list, because a client that decodes into a list reuses its elements.
func pages[T any, L interface {
	*T
	client.ObjectList
}](ctx context.Context, live client.Reader, namespace string, take func(L)) error {
	for next := ""; ; {
		page := L(new(T))
		err := live.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return fmt.Errorf("list policies: %w", err)
		}
		take(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// addLedgers reads the ledgers of ClusterRetentionPolicies for a digest about namespaces: the status has only totals.
func (n *Notifier) addLedgers(ctx context.Context, d *digest.Digest, sources []digest.Source) error {
	if d.Namespaces() == nil {
		return nil
	}
	for i := range sources {
		s := &sources[i]
		if s.Namespace != "" || s.Status.Ledger == nil {
			continue
		}
		l := &v1alpha1.RetentionLedger{}
		switch err := n.Live.Get(ctx, types.NamespacedName{Name: s.Status.Ledger.Name}, l); {
		case err == nil:
			s.Ledger = l
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read RetentionLedger %s: %w", s.Status.Ledger.Name, err)
		}
	}
	return nil
}

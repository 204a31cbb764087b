// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
)

var (
	jobKind    = schema.GroupKind{Group: "batch", Kind: "Job"}
	podKind    = schema.GroupKind{Kind: "Pod"}
	secretKind = schema.GroupKind{Kind: "Secret"}
	eventKind  = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

const (
	depthMost  = 4        // of dependents of dependents, such as CronJob, Job, Pod
	extraMost  = 16 << 20 // bytes of dependents, Events and logs of the targets that are recorded together
	recordMost = 28 << 20 // of one target; a record has at most archive.MaxRecord
	ownerLabel = "batch.kubernetes.io/controller-uid"
)

// owner is an object whose dependents are read.
type owner struct {
	kind      schema.GroupKind
	namespace string
	labelled  bool    // a Job whose Pods all have ownerLabel, by its selector
	items     []*item // the targets that it belongs to
}

// owners have UIDs as keys.
type owners map[types.UID]*owner

func (o owners) add(uid types.UID, kind schema.GroupKind, namespace string, data []byte, i *item) {
	if o[uid] == nil {
		o[uid] = &owner{kind: kind, namespace: namespace, labelled: kind == jobKind && isLabelled(data, uid)}
	}
	if !slices.Contains(o[uid].items, i) {
		o[uid].items = append(o[uid].items, i)
	}
}

// isLabelled reports whether the selector of a Job is the one that the API server sets by default.
func isLabelled(job []byte, uid types.UID) bool {
	fields := struct {
		Spec struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
		} `json:"spec"`
	}{}
	return decode(job, &fields) == nil && fields.Spec.Selector.MatchLabels[ownerLabel] == string(uid)
}

// addDependents reads the dependents of items, and their dependents, once for all items.
func (w *worker) addDependents(ctx context.Context, kinds []schema.GroupKind, items []*item) error {
	if len(kinds) == 0 {
		return nil
	}
	of := owners{}
	for _, i := range items {
		t := i.request.target
		of.add(t.UID, t.Kind.GroupKind(), t.Namespace, i.object, i)
	}
	seen := map[types.UID]bool{}
	for depth := 0; depth < depthMost && len(of) > 0; depth++ {
		next := owners{}
		for _, kind := range kinds {
			for _, q := range queries(kind, of, depth) {
				if err := w.readDependents(ctx, q, seen, next); err != nil {
					return fmt.Errorf("list dependents of kind %s: %w", kind, err)
				}
			}
		}
		of = next
	}
	return nil
}

// dependentsQuery selects the dependents of some owners.
type dependentsQuery struct {
	Query
	of owners
}

// queries returns the listings that have the dependents of one kind. Jobs whose Pods have the label of the Job controller share one
// listing with a selector. A dependent is not expected to own objects of its own kind.
func queries(kind schema.GroupKind, of owners, depth int) []dependentsQuery {
	labelled, rest := owners{}, map[string]owners{}
	for uid, o := range of {
		switch {
		case depth > 0 && o.kind == kind:
		case kind == podKind && o.labelled:
			labelled[uid] = o
		default:
			if rest[o.namespace] == nil {
				rest[o.namespace] = owners{}
			}
			rest[o.namespace][uid] = o
		}
	}
	var all []dependentsQuery
	if len(labelled) > 0 {
		all = append(all, byLabel(kind, labelled))
	}
	for namespace, of := range rest {
		all = append(all, dependentsQuery{Query{Kind: kind.WithVersion(""), Namespace: namespace}, of})
	}
	return all
}

func byLabel(kind schema.GroupKind, of owners) dependentsQuery {
	uids, namespaces := []string{}, map[string]bool{}
	for uid, o := range of {
		uids = append(uids, string(uid))
		namespaces[o.namespace] = true
	}
	slices.Sort(uids)
	q := Query{Kind: kind.WithVersion(""), Labels: ownerLabel + " in (" + strings.Join(uids, ",") + ")"}
	if len(namespaces) == 1 {
		for namespace := range namespaces {
			q.Namespace = namespace
		}
	}
	return dependentsQuery{q, of}
}

// readDependents adds the objects of a listing to the items of their owners, and to the owners of the next listings.
func (w *worker) readDependents(ctx context.Context, q dependentsQuery, seen map[types.UID]bool, next owners) error {
	return w.listAll(ctx, q.Query, func(kind schema.GroupVersionKind, data []byte) error {
		id, err := identify(data)
		if err != nil {
			return err
		}
		m := id.Metadata
		var d *dependent
		for _, ref := range m.OwnerReferences {
			o := q.of[ref.UID]
			if o == nil {
				continue
			}
			if d == nil {
				whole, err := withKind(kind, data)
				if err != nil {
					return err
				}
				d = &dependent{kind: kind, namespace: m.Namespace, name: m.Name, uid: m.UID, data: whole}
			}
			for _, i := range o.items {
				if has(i, m.UID) {
					continue
				}
				i.dependents = append(i.dependents, *d)
				if err := w.extend(i, len(d.data)); err != nil {
					return err
				}
				next.add(m.UID, kind.GroupKind(), m.Namespace, d.data, i)
			}
		}
		return nil
	})
}

// withKind returns a copy of an object of a listing, with apiVersion and kind.
func withKind(kind schema.GroupVersionKind, data []byte) ([]byte, error) {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return archive.WithKind(bytes.Clone(data), apiVersion, name)
}

func has(i *item, uid types.UID) bool {
	return slices.ContainsFunc(i.dependents, func(d dependent) bool { return d.uid == uid })
}

// extend counts bytes that were read for an item beside its object. The error is errOverflow if that is too much for the items that
// are recorded together, or for one record.
func (w *worker) extend(i *item, bytes int) error {
	w.grow(i, bytes)
	w.mu.Lock()
	defer w.mu.Unlock()
	i.chunk.bytes += int64(bytes)
	switch {
	case i.chunk.items > 1 && i.chunk.bytes > extraMost:
		return errOverflow
	case i.bytes > recordMost:
		return fmt.Errorf("the record has more than %d MiB: archive fewer dependents, or set a smaller logs.tailBytes", recordMost>>20)
	}
	return nil
}

// addEvents reads the Events about items and their dependents.
func (w *worker) addEvents(ctx context.Context, items []*item) error {
	byNamespace := map[string]map[types.UID]*item{}
	about := func(namespace string, uid types.UID, i *item) {
		if namespace == "" {
			namespace = corev1.NamespaceDefault // Events about cluster-scoped objects are there
		}
		if byNamespace[namespace] == nil {
			byNamespace[namespace] = map[types.UID]*item{}
		}
		byNamespace[namespace][uid] = i
	}
	for _, i := range items {
		about(i.request.target.Namespace, i.request.target.UID, i)
		for _, d := range i.dependents {
			about(d.namespace, d.uid, i)
		}
	}
	for namespace, of := range byNamespace {
		if err := w.readEvents(ctx, namespace, of); err != nil {
			return fmt.Errorf("list Events in namespace %s: %w", namespace, err)
		}
	}
	return nil
}

// eventsApart is up to how many objects the Events about each are listed apart.
const eventsApart = 3

// readEvents adds the Events of one namespace to the items.
func (w *worker) readEvents(ctx context.Context, namespace string, of map[types.UID]*item) error {
	visit := func(kind schema.GroupVersionKind, data []byte) error {
		id, err := identify(data)
		if err != nil {
			return err
		}
		i := of[id.InvolvedObject.UID]
		if i == nil {
			return nil
		}
		event, err := withKind(kind, data)
		if err != nil {
			return err
		}
		i.events = append(i.events, event)
		return w.extend(i, len(event))
	}
	q := Query{Kind: eventKind, Namespace: namespace}
	if len(of) > eventsApart {
		return w.listAll(ctx, q, visit)
	}
	for uid := range of {
		q.Fields = "involvedObject.uid=" + string(uid)
		if err := w.listAll(ctx, q, visit); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package archives

import (
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
	depthMost  = 8 // of dependents of dependents, such as CronJob, Job, Pod
	ownerLabel = "batch.kubernetes.io/controller-uid"
)

// owner is an object whose dependents are read.
type owner struct {
	kind      schema.GroupKind
	namespace string
	labelled  bool    // a Job whose Pods are listed by ownerLabel; those from which somebody has removed it are not found
	podOfJob  bool    // a Pod of a labelled Job
	items     []*item // the targets that it belongs to
}

// owners have UIDs as keys.
type owners map[types.UID]*owner

func (o owners) add(uid types.UID, kind schema.GroupKind, namespace string, data []byte, i *item, of *owner) {
	if o[uid] == nil {
		o[uid] = &owner{
			kind: kind, namespace: namespace, labelled: kind == jobKind && !i.anyLabels && isLabelled(data, uid),
			podOfJob: kind == podKind && of != nil && of.labelled,
		}
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
func (w *worker) addDependents(ctx context.Context, kinds []schema.GroupKind, l *lease, items []*item) error {
	if len(kinds) == 0 {
		return nil
	}
	of := owners{}
	w.mu.Lock()
	for _, i := range items {
		i.anyLabels = i.request.intent.Owner != nil
	}
	w.mu.Unlock()
	for _, i := range items {
		t := i.request.target
		of.add(t.UID, t.Kind.GroupKind(), t.Namespace, i.object, i, nil)
	}
	for depth := 0; len(of) > 0; depth++ {
		if depth == depthMost {
			return fmt.Errorf("dependents own dependents more than %d levels deep; archive fewer kinds of dependents", depthMost)
		}
		next := owners{}
		for _, kind := range kinds {
			for _, q := range queries(kind, of) {
				if err := w.readDependents(ctx, l, q, next); err != nil {
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

// queries returns the listings that have the dependents of one kind: one for each namespace. Jobs whose Pods have the label of the Job
// controller share a listing with a selector. Pods of such Jobs are not expected to own Pods: that would take a listing of all Pods.
func queries(kind schema.GroupKind, of owners) (all []dependentsQuery) {
	type scope struct {
		namespace string
		labelled  bool
	}
	by := map[scope]owners{}
	for uid, o := range of {
		if kind == podKind && o.podOfJob {
			continue
		}
		s := scope{o.namespace, kind == podKind && o.labelled}
		if by[s] == nil {
			by[s] = owners{}
		}
		by[s][uid] = o
	}
	for s, of := range by {
		q := Query{Kind: kind.WithVersion(""), Namespace: s.namespace}
		if s.labelled {
			q.Labels = ownerLabel + " in (" + of.uids() + ")"
		}
		all = append(all, dependentsQuery{q, of})
	}
	return all
}

// uids are the UIDs of owners, in order and with commas.
func (o owners) uids() string {
	var all []string
	for uid := range o {
		all = append(all, string(uid))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// readDependents adds the objects of a listing to the items of their owners, and to the owners of the next listings. As for garbage
// collection, an owner with a namespace has dependents only there.
func (w *worker) readDependents(ctx context.Context, l *lease, q dependentsQuery, next owners) error {
	return w.listAll(ctx, l, q.Query, func(kind schema.GroupVersionKind, data []byte) error {
		id, err := identify(data)
		if err != nil {
			return err
		}
		m := id.Metadata
		d := dependent{kind: kind, namespace: m.Namespace, name: m.Name, uid: m.UID}
		for _, ref := range m.OwnerReferences {
			o := q.of[ref.UID]
			if o == nil || o.namespace != "" && o.namespace != m.Namespace {
				continue
			}
			for _, i := range o.items {
				if has(i, m.UID) {
					continue
				}
				if err := l.take(i, int64(len(data))); err != nil {
					return err
				}
				if d.data == nil {
					if d.data, err = archive.WithKind(data, kind); err != nil {
						return err
					}
				}
				i.dependents = append(i.dependents, d)
				next.add(m.UID, kind.GroupKind(), m.Namespace, d.data, i, o)
			}
		}
		return nil
	})
}

// has reports whether an item has a dependent, or is it.
func has(i *item, uid types.UID) bool {
	return i.request.target.UID == uid || slices.ContainsFunc(i.dependents, func(d dependent) bool { return d.uid == uid })
}

// addEvents reads the Events about items and their dependents.
func (w *worker) addEvents(ctx context.Context, l *lease, items []*item) error {
	byNamespace := map[string]map[types.UID][]*item{} // several items can have the same dependent
	about := func(namespace string, uid types.UID, i *item) {
		if namespace == "" {
			namespace = corev1.NamespaceDefault // Events about cluster-scoped objects are there
		}
		if byNamespace[namespace] == nil {
			byNamespace[namespace] = map[types.UID][]*item{}
		}
		byNamespace[namespace][uid] = append(byNamespace[namespace][uid], i)
	}
	for _, i := range items {
		about(i.request.target.Namespace, i.request.target.UID, i)
		for _, d := range i.dependents {
			about(d.namespace, d.uid, i)
		}
	}
	for namespace, of := range byNamespace {
		if err := w.readEvents(ctx, l, namespace, of); err != nil {
			return fmt.Errorf("list Events in namespace %s: %w", namespace, err)
		}
	}
	return nil
}

// eventsApart is up to how many objects the Events about each are listed apart.
const eventsApart = 3

// readEvents adds the Events of one namespace to the items.
func (w *worker) readEvents(ctx context.Context, l *lease, namespace string, of map[types.UID][]*item) error {
	visit := func(kind schema.GroupVersionKind, data []byte) error {
		id, err := identify(data)
		if err != nil {
			return err
		}
		for _, i := range of[id.InvolvedObject.UID] {
			if err := l.take(i, int64(len(data))); err != nil {
				return err
			}
			event, err := archive.WithKind(data, kind)
			if err != nil {
				return err
			}
			i.events = append(i.events, event)
		}
		return nil
	}
	q := Query{Kind: eventKind, Namespace: namespace}
	if len(of) > eventsApart {
		return w.listAll(ctx, l, q, visit)
	}
	for uid := range of {
		q.Fields = "involvedObject.uid=" + string(uid)
		if err := w.listAll(ctx, l, q, visit); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// finalizer is a finalizer that only the schedule removes.
const finalizer = "faults.sunset.test/schedule"

// kind is the kind of an object.
type kind string

const (
	configMap kind = "ConfigMap"
	job       kind = "Job"
	pod       kind = "Pod"
)

// draft is an object to create. Policies read its labels and its end, and fail on a ConfigMap without data.
type draft struct {
	kind            kind
	name            string
	beside          bool // in the second namespace
	old, idle, app  string
	held, finalized bool
	ttl             string
	readable        bool
}

func (d draft) String() string {
	return fmt.Sprintf("create %s %s, beside: %v, old: %s, idle: %s, app: %s, held: %v, finalizer: %v, ttl: %q, readable: %v",
		d.kind, d.name, d.beside, d.old, d.idle, d.app, d.held, d.finalized, d.ttl, d.readable)
}

// kindOf returns the kind of the i-th object: half are ConfigMaps, the rest Jobs and Pods.
func kindOf(i int) kind { return [...]kind{configMap, configMap, job, pod}[i/4%4] }

func (d *drawing) creation(i int) draft {
	c := draft{
		kind: kindOf(i), name: fmt.Sprintf("x%d", i), beside: i%4 == 3, old: yes(d.chance(60)), idle: yes(d.chance(40)), app: pick(d, "a", "b"),
		held: d.chance(10), finalized: d.chance(10), readable: d.chance(85),
	}
	if d.chance(15) {
		c.ttl = pick(d, "1s", "5s", "1h", "soon")
	}
	return c
}

// empty returns an object with the draft's kind and name.
func (d draft) empty(s *stage) client.Object {
	var o client.Object
	switch d.kind {
	case job:
		o = newJob()
	case pod:
		o = newPod()
	default:
		o = &corev1.ConfigMap{}
	}
	o.SetNamespace(s.namespace(d.beside))
	o.SetName(d.name)
	return o
}

func (d draft) on(s *stage) {
	o := d.empty(s)
	o.SetLabels(map[string]string{"old": d.old, "idle": d.idle, "app": d.app})
	annotations := map[string]string{}
	if d.held {
		annotations[v1alpha1.HoldAnnotation] = "true"
	}
	if d.ttl != "" {
		annotations[v1alpha1.TTLAnnotation] = d.ttl
	}
	o.SetAnnotations(annotations)
	if d.finalized {
		o.SetFinalizers([]string{finalizer})
	}
	if cm, is := o.(*corev1.ConfigMap); is && d.readable {
		cm.Data = map[string]string{"when": "now"}
	}
	s.tolerate(s.Create(s.Context(), o))
}

// change is an edit of an object.
type change struct {
	draft
	what string
	edit func(client.Object)
}

func (c change) String() string { return c.what + " " + c.name }

func (c change) on(s *stage) {
	o := c.empty(s)
	err := s.Get(s.Context(), client.ObjectKeyFromObject(o), o)
	if err == nil {
		c.edit(o)
		err = s.Update(s.Context(), o)
	}
	s.tolerate(err)
}

// remake deletes an object and creates another one with the same name.
type remake struct{ draft }

func (r remake) String() string { return "delete and " + r.draft.String() }

func (r remake) on(s *stage) {
	s.tolerate(s.Delete(s.Context(), r.empty(s), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	r.draft.on(s)
}

// objectChange draws a change of an object.
func (d *drawing) objectChange() action {
	made := d.creation(d.IntN(objects))
	if made.kind != configMap && d.chance(30) {
		return end{made, d.ending()}
	}
	edit := func(what string, f func(client.Object)) action { return change{made, what, f} }
	label := func(key, value string) action {
		return edit("label "+key+"="+value, func(o client.Object) { o.SetLabels(with(o.GetLabels(), key, value)) })
	}
	annotate := func(key, value string) action {
		return edit("annotate "+key+"="+value, func(o client.Object) { o.SetAnnotations(with(o.GetAnnotations(), key, value)) })
	}
	switch d.IntN(10) {
	case 0, 1:
		return made
	case 2:
		return remake{made}
	case 3:
		return label("old", made.old)
	case 4:
		return label("idle", made.idle)
	case 5:
		return annotate(v1alpha1.HoldAnnotation, "true")
	case 6:
		return edit("remove the hold of", func(o client.Object) {
			annotations := o.GetAnnotations()
			delete(annotations, v1alpha1.HoldAnnotation)
			o.SetAnnotations(annotations)
		})
	case 7:
		return annotate(v1alpha1.TTLAnnotation, pick(d, "1s", "3s", "1h", "soon"))
	case 8:
		return edit("remove the finalizer of", func(o client.Object) {
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
		})
	default:
		return annotate("touched", "yes")
	}
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

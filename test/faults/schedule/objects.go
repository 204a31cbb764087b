package schedule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// finalizer is nobody's but the schedule's.
const finalizer = "faults.sunset.test/schedule"

// draft is a ConfigMap that is to be made. Policies look at its labels, and fail where there is no data.
type draft struct {
	name            string
	beside          bool // in the second namespace
	old, idle, app  string
	held, lingering bool
	ttl             string
	readable        bool
}

func (d draft) String() string {
	return fmt.Sprintf("create %s, beside: %v, old: %s, idle: %s, app: %s, held: %v, finalizer: %v, ttl: %q, readable: %v",
		d.name, d.beside, d.old, d.idle, d.app, d.held, d.lingering, d.ttl, d.readable)
}

func (d *drawing) creation(i int) draft {
	c := draft{
		name: fmt.Sprintf("x%d", i), beside: i%4 == 3, old: yes(d.chance(60)), idle: yes(d.chance(40)), app: pick(d, "a", "b"),
		held: d.chance(10), lingering: d.chance(10), readable: d.chance(85),
	}
	if d.chance(15) {
		c.ttl = pick(d, "1s", "5s", "1h", "soon")
	}
	return c
}

func (d draft) on(s *stage) { s.create(d) }

func (s *stage) create(d draft) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace(d.beside), Name: d.name, Annotations: map[string]string{},
		Labels: map[string]string{"old": d.old, "idle": d.idle, "app": d.app},
	}}
	if d.held {
		o.Annotations[v1alpha1.HoldAnnotation] = "true"
	}
	if d.ttl != "" {
		o.Annotations[v1alpha1.TTLAnnotation] = d.ttl
	}
	if d.lingering {
		o.Finalizers = []string{finalizer}
	}
	if d.readable {
		o.Data = map[string]string{"when": "now"}
	}
	s.tolerate(s.Create(s.Context(), o))
}

// change is an edit of an object.
type change struct {
	what   string
	name   string
	beside bool
	edit   func(*corev1.ConfigMap)
}

func (c change) String() string { return c.what + " " + c.name }

func (c change) on(s *stage) {
	o := &corev1.ConfigMap{}
	err := s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace(c.beside), Name: c.name}, o)
	if err == nil {
		c.edit(o)
		err = s.Update(s.Context(), o)
	}
	s.tolerate(err)
}

// remake deletes an object, and makes another one of its name.
type remake struct{ draft }

func (r remake) String() string { return "delete and " + r.draft.String() }

func (r remake) on(s *stage) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace(r.beside), Name: r.name}}
	s.tolerate(s.Delete(s.Context(), o))
	s.create(r.draft)
}

// objectChange draws something that happens to an object.
func (d *drawing) objectChange() action {
	i := d.IntN(objects)
	made := d.creation(i)
	edit := func(what string, f func(*corev1.ConfigMap)) action { return change{what, made.name, made.beside, f} }
	label := func(key, value string) action {
		return edit("label "+key+"="+value, func(o *corev1.ConfigMap) { o.Labels = with(o.Labels, key, value) })
	}
	annotate := func(key, value string) action {
		return edit("annotate "+key+"="+value, func(o *corev1.ConfigMap) { o.Annotations = with(o.Annotations, key, value) })
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
		return edit("let go of", func(o *corev1.ConfigMap) { delete(o.Annotations, v1alpha1.HoldAnnotation) })
	case 7:
		return annotate(v1alpha1.TTLAnnotation, pick(d, "1s", "3s", "1h", "soon"))
	case 8:
		return edit("free", func(o *corev1.ConfigMap) {
			o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == finalizer })
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

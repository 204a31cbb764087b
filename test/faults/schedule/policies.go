// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// policy is a ClusterRetentionPolicy with one rule for one kind.
type policy struct {
	name, mode, ttl, limits, teams, windows string
	kind                                    kind
	rule                                    string // eligible, startTime and other fixed fields
	frozen                                  frozen
}

func (p policy) String() string { return strings.Join(strings.Fields(p.spec(time.Time{})), " ") }

// spec returns the spec of the policy as YAML, for some namespaces, in a schedule that began at a time.
func (p policy) spec(began time.Time, namespaces ...string) string {
	text := fmt.Sprintf("mode: %s\nnamespaceSelector: {matchExpressions: [{key: %s, operator: In, values: [%s]}]%s}\n",
		p.mode, corev1.LabelMetadataName, strings.Join(namespaces, ", "), p.teams)
	if p.limits != "" {
		text += "limits: " + p.limits + "\n"
	}
	if p.windows != "" {
		text += "windows: " + p.windows + "\n"
	}
	if p.frozen.lasts > 0 {
		text += "freezes: " + p.frozen.spec(began) + "\n"
	}
	if p.ttl != "" {
		p.rule += ", ttl: " + p.ttl
	}
	version := "v1"
	if p.kind == job {
		version = "batch/v1"
	}
	return text + fmt.Sprintf("rules: [{name: r, target: {apiVersion: %s, kind: %s}, %s}]\n", version, p.kind, p.rule)
}

const (
	isOld   = `eligible: "object.metadata.?labels[?'old'].orValue('') == 'yes'"`
	isIdle  = `eligible: "object.metadata.?labels[?'idle'].orValue('') == 'yes'"`
	isMade  = `startTime: object.metadata.creationTimestamp`
	hasEnd  = `eligible: finished(object), startTime: finishedAt(object)`
	mayEdit = `overrideBounds: {ttlAnnotation: WithinBounds, minTTL: 1s}`
)

// drawPolicies draws five policies: one for old objects, one with marks, one that sometimes keeps, and two for finished
// objects.
func (d *drawing) drawPolicies() []policy {
	old := policy{name: "old", kind: configMap, mode: d.mode(), ttl: d.ttl(), limits: d.limits(), rule: isOld + ", " + isMade + ", " + mayEdit}
	if d.chance(30) {
		old.rule += ", outcome: object.metadata.labels.app"
	}
	idle := policy{name: "idle", kind: configMap, mode: d.mode(), ttl: d.ttl(), limits: d.limits(), rule: isIdle}
	keeps := policy{name: "keeps", kind: configMap, mode: d.mode(), rule: pick(d,
		isOld+", "+isMade+`, ttlExpression: "object.metadata.labels.app == 'a' ? optional.none() : optional.of('3s')"`,
		`eligible: object.data.when == 'now', `+isMade+`, ttl: 3s`,
		isOld+", "+isMade+`, ttl: 1s, delete: {propagationPolicy: Foreground}`,
	)}
	jobs := policy{name: "jobs", kind: job, mode: d.mode(), ttl: d.ttl(), limits: d.limits(), rule: hasEnd + ", " + mayEdit}
	if d.chance(50) {
		jobs.rule += `, outcome: "succeeded(object) ? 'well' : 'badly'"`
	}
	pods := policy{name: "pods", kind: pod, mode: d.mode(), limits: d.limits(), rule: pick(d,
		hasEnd+`, ttlExpression: "failed(object) ? duration('4s') : duration('1s')"`,
		hasEnd+", ttl: 2s, "+mayEdit,
		`eligible: failed(object), startTime: finishedAt(object), ttl: 1s`,
	)}
	all := []policy{old, idle, keeps, jobs, pods}
	for i := range all {
		all[i].windows, all[i].frozen = d.windows(), d.freezes()
	}
	return all
}

// mode is mostly Enforce, because little happens otherwise.
func (d *drawing) mode() string {
	if d.chance(80) {
		return "Enforce"
	}
	return pick(d, "DryRun", "Suspend")
}

func (d *drawing) ttl() string { return pick(d, "0s", "1s", "2s", "4s") }

func (d *drawing) limits() string {
	if d.chance(50) {
		return ""
	}
	return fmt.Sprintf("{maxDeletions: %d, window: %s}", 2+d.IntN(8), pick(d, "3s", "6s"))
}

// policyChange draws a change of policies, overrides or namespaces.
func (d *drawing) policyChange() action {
	i := d.IntN(len(d.now))
	switch d.IntN(11) {
	case 0, 1:
		d.now[i].mode = d.mode()
		return d.rewritten(i, "mode")
	case 2:
		if d.now[i].ttl != "" {
			d.now[i].ttl = d.ttl()
		}
		return d.rewritten(i, "ttl")
	case 3:
		d.now[i].limits = d.limits()
		return d.rewritten(i, "limits")
	case 4:
		d.now[i].teams = pick(d, "", ", matchLabels: {team: red}", ", matchLabels: {team: blue}")
		return d.rewritten(i, "selector")
	case 5, 6:
		return override{name: pick(d, "a", "b"), mode: d.mode(), text: d.overrides()}
	case 7:
		d.now[i].windows = d.windows()
		return d.rewritten(i, "windows")
	case 8, 9:
		d.now[i].frozen = d.freezes()
		return d.rewritten(i, "freezes")
	default:
		return namespaceChange{beside: d.chance(70), hold: d.chance(20), team: pick(d, "red", "blue")}
	}
}

func (d *drawing) rewritten(i int, what string) action { return rewrite{d.now[i], what} }

// rewrite gives a policy another spec.
type rewrite struct {
	policy
	what string
}

func (r rewrite) String() string {
	return fmt.Sprintf("rewrite the %s of policy %s: %s", r.what, r.name, r.policy)
}

func (r rewrite) on(s *stage) { s.writePolicy(r.policy) }

// overrides draws the overrides of a RetentionPolicy; empty for none.
func (d *drawing) overrides() string {
	of := func(i int) string { return d.now[i].name }
	if d.chance(40) {
		return ""
	}
	return pick(d,
		"{policy: "+of(pick(d, 0, 3, 4))+", ttl: "+d.ttl()+"}",
		"{policy: "+of(d.IntN(len(d.now)))+", suspend: true}",
		"{policy: "+of(1)+", ttl: 1h}",
		"{policy: "+of(d.IntN(len(d.now)))+", windows: "+everyTwoMinutes+"}",
		"{policy: "+of(pick(d, 0, 3))+", ttl: 1d, unless: sunday}")
}

// override writes a RetentionPolicy, or deletes it.
type override struct{ name, mode, text string }

func (o override) String() string { return fmt.Sprintf("override %s: %s [%s]", o.name, o.mode, o.text) }

func (o override) on(s *stage) {
	team := &v1alpha1.RetentionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: o.name}}
	if o.text == "" {
		s.tolerate(s.Delete(s.Context(), team))
		return
	}
	text := strings.ReplaceAll(o.text, "policy: ", "policy: "+s.Namespace+"-")
	s.write(v1alpha1.RetentionPolicyKind, team, "mode: "+o.mode+"\noverrides: ["+text+"]\n")
}

// namespaceChange changes the labels and the hold of a namespace.
type namespaceChange struct {
	beside, hold bool
	team         string
}

func (n namespaceChange) String() string {
	return fmt.Sprintf("namespace, beside: %v, team: %s, hold: %v", n.beside, n.team, n.hold)
}

func (n namespaceChange) on(s *stage) {
	ns := &corev1.Namespace{}
	err := s.Get(s.Context(), client.ObjectKey{Name: s.namespace(n.beside)}, ns)
	if err == nil {
		before := ns.DeepCopy()
		ns.Labels = with(ns.Labels, "team", n.team)
		ns.Annotations = with(ns.Annotations, v1alpha1.HoldAnnotation, fmt.Sprint(n.hold))
		err = s.Patch(s.Context(), ns, client.MergeFrom(before))
	}
	s.tolerate(err)
}

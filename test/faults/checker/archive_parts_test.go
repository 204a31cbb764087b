// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestRedactedRecords(t *testing.T) {
	// redacted records one object with what change makes of it.
	redacted := func(paths string, change func(o map[string]any)) func(*past) {
		return func(p *past) {
			of := p.policy("p", "Enforce", "", ", archive: {to: history, redact: ["+paths+"]}")
			x := p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, managedFields: [{manager: m}],
				annotations: {kubectl.kubernetes.io/last-applied-configuration: all, a/b: token}},
				data: {one: s3cr3t, two: plain, n: 1}, list: [{v: s3cr3t, w: 1}, {v: s3cr3t, w: 2}, {w: 3}]}`)
			p.wait(2 * time.Minute)
			p.ledger(of, 0, 0, x)
			p.record(x, func(r *history.Record) {
				unstructured.RemoveNestedField(r.Object.Object, "metadata", "managedFields")
				r.Object.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "REDACTED", "a/b": "token"})
				change(r.Object.Object)
			})
			p.wait(time.Second)
			p.sunset(x)
		}
	}
	set := func(value any, fields ...string) func(map[string]any) {
		return func(o map[string]any) { _ = unstructured.SetNestedField(o, value, fields...) }
	}
	both := func(changes ...func(map[string]any)) func(map[string]any) {
		return func(o map[string]any) {
			for _, change := range changes {
				change(o)
			}
		}
	}
	list := func(text string) func(map[string]any) {
		return func(o map[string]any) {
			var all []any
			_ = json.Unmarshal([]byte(strings.NewReplacer("'", `"`).Replace(text)), &all)
			for _, one := range all {
				w := one.(map[string]any)
				w["w"] = int64(w["w"].(float64))
			}
			o["list"] = all
		}
	}
	nothing := func(map[string]any) {}
	wrong := broken(checker.Archived, checker.Recorded)
	tell(t, map[string]example{
		"a string is replaced":              {tell: redacted("data.one", set("REDACTED", "data", "one"))},
		"a string stays":                    {tell: redacted("data.one", nothing), want: wrong},
		"a string is removed":               {tell: redacted("data.one", func(o map[string]any) { unstructured.RemoveNestedField(o, "data", "one") }), want: wrong},
		"another value is removed":          {tell: redacted("data.n", func(o map[string]any) { unstructured.RemoveNestedField(o, "data", "n") })},
		"another value is replaced":         {tell: redacted("data.n", set("REDACTED", "data", "n")), want: wrong},
		"more is replaced than selected":    {tell: redacted("data.one", both(set("REDACTED", "data", "one"), set("REDACTED", "data", "two"))), want: wrong},
		"all fields":                        {tell: redacted("data.*", set(map[string]any{"one": "REDACTED", "two": "REDACTED"}, "data"))},
		"all fields but one":                {tell: redacted("data.*", set(map[string]any{"one": "REDACTED", "two": "plain"}, "data")), want: wrong},
		"elements of a list":                {tell: redacted("'list[*].v'", list("[{'v': 'REDACTED', 'w': 1}, {'v': 'REDACTED', 'w': 2}, {'w': 3}]"))},
		"elements of a list but one":        {tell: redacted("'list[*].v'", list("[{'v': 'REDACTED', 'w': 1}, {'v': 's3cr3t', 'w': 2}, {'w': 3}]")), want: wrong},
		"one element":                       {tell: redacted("'list[1].v'", list("[{'v': 's3cr3t', 'w': 1}, {'v': 'REDACTED', 'w': 2}, {'w': 3}]"))},
		"elements are counted as they were": {tell: redacted("'list[0]', 'list[1].v'", list("[{'v': 'REDACTED', 'w': 2}, {'w': 3}]"))},
		"a name in quotes":                  {tell: redacted(`"metadata.annotations['a/b']"`, set("REDACTED", "metadata", "annotations", "a/b"))},
		"a name in quotes stays":            {tell: redacted(`"metadata.annotations['a/b']"`, nothing), want: wrong},
		"nothing is selected":               {tell: redacted("data.three", nothing)},
		"a copy by kubectl apply stays": {tell: redacted("data.one", both(set("REDACTED", "data", "one"),
			set("all", "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"))), want: wrong},
		"managedFields stay": {tell: redacted("data.one", both(set("REDACTED", "data", "one"),
			set([]any{map[string]any{"manager": "m"}}, "metadata", "managedFields"))), want: wrong},
	})
}

// complete is a rule that archives all that a record can have.
const complete = ", archive: {to: history, dependents: [Pod, Job.batch], events: true, logs: {tailBytes: 4, required: true}, redact: [spec.secret]}"

// scene has an object with a Pod, an Event about each, and a record that is complete.
type scene struct {
	*past
	object, pod   *history.State
	about, others *history.State // Events
	record        history.Record
}

// owned stores a Pod of an owner.
func (p *past) owned(name string, by *history.State, more string) *history.State {
	p.Helper()
	return p.store(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: %s, ownerReferences: [{kind: ConfigMap, name: x, uid: %s}]},
		spec: {secret: s3cr3t, containers: [{name: main}]}, status: {containerStatuses: [{name: main, state: {terminated: {exitCode: 0}}}]%s}}`, name, by.GetUID(), more))
}

func (p *past) event(name string, about *history.State) *history.State {
	p.Helper()
	return p.store(fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {namespace: a, name: %s}, involvedObject: {uid: %s}}`, name, about.GetUID()))
}

// archived returns an object as a record has it after the redaction of the rule complete.
func archived(s *history.State) unstructured.Unstructured {
	o := *s.DeepCopy()
	if _, has, _ := unstructured.NestedString(o.Object, "spec", "secret"); has {
		_ = unstructured.SetNestedField(o.Object, "REDACTED", "spec", "secret")
	}
	return o
}

func TestPartsOfRecords(t *testing.T) {
	// recorded deletes the object after change has changed the record, or the world before the record is read back.
	recorded := func(ruled string, change func(*scene)) func(*past) {
		return func(p *past) {
			s := &scene{past: p}
			of := p.policy("p", "Enforce", "", ruled)
			s.object = p.configMap("x")
			s.pod = p.owned("x-1", s.object, "")
			s.about, s.others = p.event("e", s.object), p.event("pod", s.pod)
			s.object = p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x}, data: {last: version}}`)
			p.evidence.Logs = map[history.Container]string{{Namespace: "a", Pod: "x-1", Name: "main"}: "all of the log"}
			p.wait(2 * time.Minute)
			s.record = history.Record{
				Dependents: []unstructured.Unstructured{archived(s.pod)}, Events: []unstructured.Unstructured{archived(s.about), archived(s.others)},
				Logs: []history.ContainerLog{{Pod: "x-1", Container: "main", Text: " log", Truncated: true}},
			}
			change(s)
			p.ledger(of, 0, 0, s.object)
			p.record(s.object, func(r *history.Record) {
				r.Dependents, r.Events, r.Logs = s.record.Dependents, s.record.Events, s.record.Logs
			})
			p.wait(time.Second)
			p.sunset(s.object)
		}
	}
	of := func(change func(*scene)) func(*past) { return recorded(complete, change) }
	nothing := func(s *scene) { s.record.Dependents, s.record.Events, s.record.Logs = nil, nil, nil }
	wrong := broken(checker.Archived, checker.Recorded)
	tell(t, map[string]example{
		"everything":                      {tell: of(func(*scene) {})},
		"a rule that archives the object": {tell: recorded(archives, nothing)},
		"dependents without being asked":  {tell: recorded(archives, func(s *scene) { s.record.Events, s.record.Logs = nil, nil }), want: wrong},

		"no dependents": {tell: of(func(s *scene) {
			s.record.Dependents, s.record.Events, s.record.Logs = nil, s.record.Events[:1], nil
		}), want: wrong},
		"a dependent is not redacted": {tell: of(func(s *scene) { s.record.Dependents[0] = *s.pod.DeepCopy() }), want: wrong},
		"a dependent with other content": {tell: of(func(s *scene) {
			s.record.Dependents[0].SetLabels(map[string]string{"a": "b"})
		}), want: wrong},
		"a dependent twice": {tell: of(func(s *scene) {
			s.record.Dependents = append(s.record.Dependents, s.record.Dependents[0])
		}), want: wrong},
		"a dependent of another object": {tell: of(func(s *scene) {
			s.record.Dependents = append(s.record.Dependents, archived(s.owned("y-1", s.configMap("y", `annotations: {sunset-k8s.io/hold: "true"}`), "")))
			s.record.Logs = append(s.record.Logs, history.ContainerLog{Pod: "y-1", Container: "main"})
		}), want: wrong},
		"a dependent that never existed": {tell: of(func(s *scene) { s.record.Dependents[0].SetResourceVersion("1") }), want: wrong},
		"a new version of a dependent": {tell: of(func(s *scene) {
			s.record.Dependents[0] = archived(s.owned("x-1", s.object, ", phase: Succeeded"))
		})},
		"a version of a dependent that changed at that time": {tell: of(func(s *scene) { s.owned("x-1", s.object, ", phase: Succeeded") })},
		"a version of a dependent that was outdated": {tell: of(func(s *scene) {
			s.owned("x-1", s.object, ", phase: Succeeded")
			s.object = s.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x}, data: {last: another}}`)
			s.wait(2 * time.Minute)
		}), want: wrong},
		"a dependent that came at that time": {tell: of(func(s *scene) { s.owned("x-2", s.object, "") })},
		"a dependent that went at that time": {tell: of(func(s *scene) {
			s.remove(s.pod)
			s.record.Dependents, s.record.Events, s.record.Logs = nil, s.record.Events[:1], nil
		})},
		"a dependent of a dependent": {tell: of(func(s *scene) {
			s.store(fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: j, ownerReferences: [{uid: %s}]}}`, s.pod.GetUID()))
			s.object = s.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x}, data: {last: another}}`)
			s.wait(2 * time.Minute)
		}), want: wrong},

		"no Events":                {tell: of(func(s *scene) { s.record.Events = nil }), want: wrong},
		"no Event about a Pod":     {tell: of(func(s *scene) { s.record.Events = s.record.Events[:1] }), want: wrong},
		"an Event that is changed": {tell: of(func(s *scene) { s.record.Events[0].SetLabels(map[string]string{"a": "b"}) }), want: wrong},
		"an Event about another object": {tell: of(func(s *scene) {
			s.record.Events = append(s.record.Events, archived(s.event("other", s.configMap("y", `annotations: {sunset-k8s.io/hold: "true"}`))))
		}), want: wrong},
		"an Event that came at that time": {tell: of(func(s *scene) { s.event("late", s.object) })},

		"no log":                  {tell: of(func(s *scene) { s.record.Logs = nil }), want: wrong},
		"a log twice":             {tell: of(func(s *scene) { s.record.Logs = append(s.record.Logs, s.record.Logs[0]) }), want: wrong},
		"the beginning of a log":  {tell: of(func(s *scene) { s.record.Logs[0].Text = "all " }), want: wrong},
		"a log that is too long":  {tell: of(func(s *scene) { s.record.Logs[0].Text = "the log" }), want: wrong},
		"a log that is not whole": {tell: of(func(s *scene) { s.record.Logs[0].Truncated = false }), want: wrong},
		"a log that is missing": {tell: of(func(s *scene) {
			s.evidence.Logs = nil
			s.record.Logs[0] = history.ContainerLog{Pod: "x-1", Container: "main", Missing: "no node"}
		}), want: wrong},
		"a log that is missing and not required": {tell: recorded(strings.Replace(complete, ", required: true", "", 1), func(s *scene) {
			s.evidence.Logs = nil
			s.record.Logs[0] = history.ContainerLog{Pod: "x-1", Container: "main", Missing: "no node"}
		})},
		"a whole log": {tell: of(func(s *scene) {
			s.evidence.Logs[history.Container{Namespace: "a", Pod: "x-1", Name: "main"}] = "one"
			s.record.Logs[0] = history.ContainerLog{Pod: "x-1", Container: "main", Text: "one"}
		})},
	})
}

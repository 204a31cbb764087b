// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const us, others = "sunset-1", "somebody"

// past is a history that a test writes. Each step is later than the one before.
type past struct {
	*testing.T
	log      *history.Log
	requests []history.Request
	revision int64
	clock    time.Time
	evidence checker.Evidence // set by a test
}

func newPast(t *testing.T) *past {
	p := &past{T: t, log: history.NewLog(), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`)
	return p
}

// check checks the past so far.
func (p *past) check() checker.Report {
	p.Helper()
	e := p.evidence
	e.Requests, e.Log, e.Users, e.Ended = p.requests, p.log, []string{us}, p.clock
	report, err := checker.Check(e)
	expect.NoError(p, err)
	return report
}

func (p *past) wait(d time.Duration) { p.clock = p.clock.Add(d) }

// resources contains the resources of kinds whose plural is not the name with an s.
var resources = map[string]string{
	"ClusterRetentionPolicy": "sunset-k8s.io/clusterretentionpolicies",
	"RetentionPolicy":        "sunset-k8s.io/retentionpolicies",
	"RetentionLedger":        "sunset-k8s.io/retentionledgers",
}

func keyOf(o *unstructured.Unstructured) string {
	resource := resources[o.GetKind()]
	if resource == "" {
		resource = strings.ToLower(o.GetKind()) + "s"
	}
	return path.Join("/registry", resource, o.GetNamespace(), o.GetName())
}

func (p *past) read(text string) *unstructured.Unstructured {
	p.Helper()
	o := &unstructured.Unstructured{}
	expect.NoError(p, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

// store writes an object, as another user unless the test names one.
func (p *past) store(text string, user ...string) *history.State {
	p.Helper()
	p.revision++
	o := p.read(text)
	key := keyOf(o)
	now := p.log.At(key, p.revision)
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%s-%d", o.GetName(), p.revision)))
		if now != nil {
			o.SetUID(now.GetUID())
		}
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(p.clock))
		if now != nil {
			o.SetCreationTimestamp(now.GetCreationTimestamp())
		}
	}
	data, err := o.MarshalJSON()
	expect.NoError(p, err)
	expect.NoError(p, p.log.Put(p.revision, key, data))
	s := p.log.At(key, p.revision)
	answer, _ := s.MarshalJSON()
	p.note(history.Request{Verb: "patch", User: append(user, others)[0], Resource: history.Resource(s), Code: 200, Answer: answer, Body: marking(now, s),
		Namespace: s.GetNamespace(), Name: s.GetName(), Group: s.GroupVersionKind().Group})
	return s
}

// marking returns the patch by which Sunset would have changed one version of an object into the next.
func marking(before, after *history.State) []byte {
	if before == nil {
		return nil
	}
	var mark any // null removes the mark
	if written, marked := after.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]; marked {
		mark = written
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": before.GetUID(), "resourceVersion": before.GetResourceVersion(),
		"annotations": map[string]any{v1alpha1.EligibleSinceAnnotation: mark}}})
	return body
}

// note records a request that takes a millisecond.
func (p *past) note(r history.Request) {
	r.ID = fmt.Sprint(len(p.requests) + 1)
	r.Received = p.clock
	p.wait(time.Millisecond)
	r.Answered = p.clock
	p.requests = append(p.requests, r)
}

// withPreconditions returns the options of Sunset's DELETEs.
func withPreconditions(s *history.State) metav1.DeleteOptions {
	uid, version, background := s.GetUID(), s.GetResourceVersion(), metav1.DeletePropagationBackground
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, PropagationPolicy: &background}
}

// request records a DELETE of Sunset with an answer, and has no other effect.
func (p *past) request(s *history.State, code int, options metav1.DeleteOptions) {
	answer, _ := json.Marshal(map[string]any{"kind": "Status", "details": map[string]any{"uid": s.GetUID()}})
	p.note(history.Request{Verb: "delete", User: us, Code: code, Options: options, Answer: answer, Group: s.GroupVersionKind().Group,
		Resource: history.Resource(s), Namespace: s.GetNamespace(), Name: s.GetName()})
}

// sunset deletes an object as Sunset.
func (p *past) sunset(s *history.State, adjust ...func(*metav1.DeleteOptions)) {
	p.Helper()
	options := withPreconditions(s)
	for _, a := range adjust {
		a(&options)
	}
	p.revision++
	expect.NoError(p, p.log.Remove(p.revision, s.Key))
	p.request(s, 200, options)
}

// remove deletes an object as another user.
func (p *past) remove(s *history.State) {
	p.Helper()
	p.sunset(s)
	last := &p.requests[len(p.requests)-1]
	last.User, last.Options = others, metav1.DeleteOptions{}
}

// configMap creates a ConfigMap in namespace a.
func (p *past) configMap(name string, more ...string) *history.State {
	p.Helper()
	return p.store(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: %s%s}}`, name, strings.Join(append([]string{""}, more...), ", ")))
}

// approve writes an approval of a ClusterRetentionPolicy.
func (p *past) approve(of *history.State, hash string) *history.State {
	p.Helper()
	return p.store(fmt.Sprintf(`{apiVersion: sunset-k8s.io/v1alpha1, kind: ClusterRetentionApproval, metadata: {name: %[2]q}, spec: {policy: {uid: %[1]s}, hash: %[2]q}}`, of.GetUID(), hash))
}

// policy writes a ClusterRetentionPolicy with one rule, which deletes ConfigMaps a minute after their creation. It adds more
// to the spec, and ruled to the rule.
func (p *past) policy(name, mode string, more, ruled string) *history.State {
	p.Helper()
	return p.store(p.policyText(name, mode, more, ruled))
}

func (p *past) policyText(name, mode, more, ruled string) string {
	if !strings.Contains(ruled, "startTime") && !strings.Contains(ruled, "marked") {
		ruled += ", startTime: object.metadata.creationTimestamp"
	}
	if !strings.Contains(ruled, "ttl:") && !strings.Contains(ruled, "ttlExpression") {
		ruled += ", ttl: 1m"
	}
	if !strings.Contains(ruled, "eligible") {
		ruled += `, eligible: "true"`
	}
	if !strings.Contains(ruled, "target: {") {
		ruled += ", target: {apiVersion: v1, kind: ConfigMap}"
	}
	if !strings.Contains(more, "approval") {
		more += ", approval: {maxObjects: 1000000, maxPercent: 100}"
	}
	ruled = strings.ReplaceAll(ruled, ", marked", "")
	return fmt.Sprintf(`{apiVersion: sunset-k8s.io/v1alpha1, kind: ClusterRetentionPolicy, metadata: {name: %s}, spec: {mode: %s%s, rules: [{name: r%s}]}}`,
		name, mode, more, ruled)
}

// example is one history and the promises that it breaks.
type example struct {
	tell func(*past)
	want []checker.Promise
}

func tell(t *testing.T, stories map[string]example) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			s.tell(p)
			report := p.check()
			var broken []checker.Promise
			for _, v := range report.Violations {
				if !slices.Contains(broken, v.Promise) {
					broken = append(broken, v.Promise)
				}
			}
			slices.Sort(broken)
			slices.Sort(s.want)
			if !slices.Equal(broken, s.want) || len(report.NotChecked) > 0 {
				t.Errorf("broken %q, want %q\n%s", broken, s.want, report)
			}
		})
	}
}

func broken(promises ...checker.Promise) []checker.Promise { return promises }

// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// built deletes Builds some time after the finish time in their status.
const built = `
mode: Enforce
rules:
- name: built
  target: {apiVersion: %s, kind: Build}
  eligible: "true"
  startTime: object.?status.?finishedAt
  ttl: %s
`

// TestF23TimesThatCannotBe writes times into the status of custom resources that are in the future, in the distant past, or
// invalid, and moves some backwards and forwards. Sunset deletes no object before it has existed for its whole TTL, and keeps
// objects with invalid times.
func TestF23TimesThatCannotBe(t *testing.T) {
	scenario.Long(t)
	const ttl = 5 * time.Second
	s := scenario.New(t, scenario.Options{})
	kind := schema.GroupVersionKind{Group: s.Namespace + ".example.com", Version: "v1", Kind: "Build"}
	define(s, kind, "builds", &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}})
	pair(s, scenario.Start{})
	p := s.Policy("built", fmt.Sprintf(built, kind.GroupVersion(), ttl))
	build := func(name string, finishedAt any) *unstructured.Unstructured {
		object := instance(s, kind, name, map[string]any{})
		finish(s, object, finishedAt)
		return object
	}
	hour := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	stay := []client.Object{
		build("in-an-hour", hour), build("in-ten-thousand-years", "9999-12-31T23:59:59Z"), build("yesterday-in-words", "yesterday"),
		build("no-date", "2026-02-30T12:00:00Z"), build("no-text", int64(1772366400)), build("empty", ""), build("a-list", []any{hour}),
		build("zero", "0001-01-01T00:00:00Z"), // means no time
	}
	none := instance(s, kind, "none", map[string]any{})
	backdated := map[string]any{"epoch": "1970-01-01T00:00:00Z", "a-year-ago": time.Now().AddDate(-1, 0, 0).UTC().Format(time.RFC3339)}
	var leave []client.Object
	for name, finishedAt := range backdated {
		leave = append(leave, build(name, finishedAt))
	}
	onTime(s, ttl, leave...)
	s.Stays(2*time.Second, append(stay, none)...)
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if status.Errors == 0 || status.Deleted != int64(len(backdated)) {
			return fmt.Errorf("status reports %d errors and %d deletions", status.Errors, status.Deleted)
		}
		return nil
	})

	mended := stay[0].(*unstructured.Unstructured)
	finish(s, mended, "1970-01-01T00:00:00Z")
	s.Gone(mended)
	finish(s, none, time.Now().Add(2*time.Second).UTC().Format(time.RFC3339))
	finish(s, none, hour)
	s.Stays(ttl+3*time.Second, none)
	s.Calm()
}

// finish writes the finish time of a Build.
func finish(s *scenario.Scenario, object *unstructured.Unstructured, at any) {
	s.Helper()
	before := object.DeepCopy()
	object.Object["status"] = map[string]any{"finishedAt": at}
	expect.NoError(s, s.Client.Status().Patch(context.Background(), object, client.MergeFrom(before)))
}

// onTime waits until objects are deleted, and fails the test if one is deleted before it has existed for its TTL.
func onTime(s *scenario.Scenario, ttl time.Duration, objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		created := object.GetCreationTimestamp().Time
		s.Gone(object)
		if early := ttl - time.Since(created); early > 0 {
			s.Errorf("%s was deleted %s too early", object.GetName(), early)
		}
	}
}

// marked deletes objects some time after their mark.
const marked = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  ttl: %s
`

// TestF23MarksAreForged forges the marks of objects and kills the leader, which has seen the real times. No mark counts from
// before the object's creation, and an invalid mark counts as none.
func TestF23MarksAreForged(t *testing.T) {
	scenario.Long(t)
	forgedMarks(t, scenario.Options{})
}

func forgedMarks(t *testing.T, o scenario.Options) {
	const ttl = 12 * time.Second
	s := scenario.New(t, o)
	leads, waits := pair(s, scenario.Start{Failover: true})
	s.Policy("unused", fmt.Sprintf(marked, ttl))
	all := configMaps(s, "cm", 4, preview)
	var mark string
	for _, cm := range all {
		s.Eventually(func() error {
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
				return err
			}
			if mark = cm.Annotations[v1alpha1.EligibleSinceAnnotation]; mark == "" {
				return errors.New("the object has no mark yet")
			}
			return nil
		})
	}
	forgedAt := time.Now()
	ago := strings.Replace(mark, time.Now().UTC().Format("2006-"), "2001-", 1)
	for i, forged := range []string{ago, `{"0123456789abcdef":"2001-01-01T00:00:00Z"}`, "2001-01-01T00:00:00Z", strings.Replace(ago, "2001-", "9999-", 1)} {
		s.Change(all[i], func() { all[i].Annotations[v1alpha1.EligibleSinceAnnotation] = forged })
	}
	leads.Kill()
	if s.Leader() != waits {
		t.Error("the other replica does not lead")
	}
	onTime(s, ttl, all[0])
	for _, cm := range all[1:3] { // these are marked again
		s.Gone(cm)
		if took := time.Since(forgedAt); took < ttl {
			t.Errorf("%s was deleted %s after its mark was lost", cm.Name, took)
		}
	}
	s.Stays(2*time.Second, all[3])
	s.Calm()
}

// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// owned is a subject that Job nightly owns.
var owned = policy.Subject{Namespace: "team-a", Name: "pod", UID: "uid-pod", ResourceVersion: "5", Created: now}

var owner = &policy.Owner{Kind: fixture.Jobs, Name: "nightly", UID: "uid-job"}

// ownerPermit returns a permit to delete the owner of a Pod.
func ownerPermit(t *testing.T, s policy.Subject, owner *policy.Owner, options ...func(*policy.Rule)) policy.DeletePermit {
	t.Helper()
	r := &policy.Rule{
		ID: policy.RuleID{Policy: "p", Rule: "r"}, Kind: fixture.Pods, Mode: v1alpha1.Enforce, Propagation: metav1.DeletePropagationForeground, Owner: true,
	}
	for _, o := range options {
		o(r)
	}
	snapshot := policy.NewSnapshot([]*policy.Policy{{Name: "p", Namespaces: labels.Everything(), Rules: []*policy.Rule{r}}}, nil, policy.Protection{})
	facts := policy.Facts{Selected: true, Eligible: true, Start: now, Owner: owner}
	_, w := policy.Decide(s, []policy.Evaluation{{Rule: snapshot.Rules(r.Kind.GroupKind())[0], Facts: facts, Known: true}}, now)
	if w.Owner() == nil {
		t.Fatal("no permit for an owner")
	}
	return w
}

func allowUnfinished(r *policy.Rule) { r.AllowUnfinished = true }
func allowManaged(r *policy.Rule)    { r.AllowManaged = true }
func ofATeam(r *policy.Rule)         { r.Namespace = "team-a" }

// answers is the responses of the API server by METHOD PATH; without one, the response is NotFound.
type answers map[string]string

const (
	jobPath     = "/apis/batch/v1/namespaces/team-a/jobs/nightly"
	podPath     = "/api/v1/namespaces/team-a/pods/pod"
	batchServed = "/apis/apiregistration.k8s.io/v1/apiservices/v1.batch"
	finished    = `"status":{"conditions":[{"type":"Complete","status":"True"}]}`
)

// jobWith returns a Job at version 9 with more metadata.
func jobWith(metadata, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"nightly","namespace":"team-a","uid":"uid-job","resourceVersion":"9"%s},%s}`, metadata, rest)
}

func podAt(uid, version string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","metadata":{"name":"pod","namespace":"team-a","uid":%q,"resourceVersion":%q}}`, uid, version)
}

// fine returns the responses that allow the deletion, with some of them replaced.
func fine(but answers) answers {
	all := answers{
		"GET " + batchServed: `{"spec":{}}`, "GET " + jobPath: jobWith("", finished), "GET " + podPath: podAt("uid-pod", "5"),
		"DELETE " + jobPath: `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
	}
	maps.Copy(all, but)
	return all
}

// on returns a Cluster with an API server that sends these responses: JSON, or CODE REASON MESSAGE.
func on(t *testing.T, all answers) (*kube.Cluster, *[]asked) {
	t.Helper()
	c, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := all[r.Method+" "+r.URL.Path]
		if strings.HasPrefix(answer, "{") {
			_, _ = w.Write([]byte(answer))
			return
		}
		code, reason, message := http.StatusNotFound, "NotFound", "not found"
		if answer != "" {
			_, _ = fmt.Sscanf(answer, "%d %s", &code, &reason)
			message = answer
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q}`, reason, message)
	})
	return c, requests
}

// order returns the requests in order.
func order(requests *[]asked) []string {
	var all []string
	for _, r := range *requests {
		all = append(all, r.Method+" "+r.Path)
	}
	return all
}

func TestResolveTargetReadsTheOwner(t *testing.T) {
	c, requests := on(t, fine(nil))
	w := ownerPermit(t, owned, owner)
	target, blocked := c.ResolveTarget(t.Context(), w.Intent())
	if blocked != nil {
		t.Fatal(blocked.Err)
	}
	expect.Equal(t, "target", policy.Target{Kind: fixture.Jobs, Namespace: "team-a", Name: "nightly", UID: "uid-job", ResourceVersion: "9"}, target)
	prepared, blocked := c.Prepare(t.Context(), w, target)
	if blocked != nil {
		t.Fatal(blocked.Err)
	}
	expect.Equal(t, "requests before the rules are evaluated again", []string{"GET " + batchServed, "GET " + jobPath, "GET " + podPath}, order(requests))
	expect.Equal(t, "result", retention.Removed, prepared.Send(t.Context(), fixture.Clear(t, w, target), time.Now()).Result)
	expect.Equal(t, "requests", []string{"GET " + batchServed, "GET " + jobPath, "GET " + podPath, "DELETE " + jobPath}, order(requests))
	expect.Equal(t, "DELETE", map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
		"preconditions": map[string]any{"uid": "uid-job", "resourceVersion": "9"},
	}, (*requests)[3].Body)
	for _, r := range *requests {
		expect.Equal(t, "query", "", r.Query) // in particular no resourceVersion, which would permit a response from a cache
	}
	*requests = nil
	_, _ = c.ResolveTarget(t.Context(), w.Intent())
	expect.Equal(t, "requests with the API server of the kind in memory", []string{"GET " + jobPath}, order(requests))
}

// TestResolveTargetRefusesOwners: if something prevents the deletion, nothing is deleted and the error says why.
func TestResolveTargetRefusesOwners(t *testing.T) {
	const running = `"status":{"active":1}`
	secret := &policy.Owner{Kind: fixture.Secrets, Name: "s", UID: "uid-s"}
	cluster := &policy.Owner{Kind: clusters, Name: "c", UID: "uid-c"}
	cluster1 := answers{
		"GET /apis/apiregistration.k8s.io/v1/apiservices/v1.example.org": `{"spec":{}}`,
		"GET /apis/example.org/v1/clusters/c":                            `{"metadata":{"name":"c","uid":"uid-c","resourceVersion":"1"},"status":{}}`,
	}
	const tracked = `,"annotations":{"argocd.argoproj.io/tracking-id":"shop:batch/Job:team-a/nightly"}`
	trackedCluster := answers{
		"GET /apis/apiregistration.k8s.io/v1/apiservices/v1.example.org": `{"spec":{}}`,
		"GET /apis/example.org/v1/clusters/c": `{"metadata":{"name":"c","uid":"uid-c","resourceVersion":"1",
			"labels":{"kustomize.toolkit.fluxcd.io/name":"x"}},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
	}
	pods2 := answers{"GET /api/v1/namespaces/team-a/pods/p": `{"metadata":{"name":"p","namespace":"team-a","uid":"uid-p","resourceVersion":"1",
		"finalizers":["batch.kubernetes.io/job-tracking"]},"status":{"phase":"Succeeded"}}`}
	mirror := answers{"GET /api/v1/namespaces/team-a/pods/p": `{"metadata":{"name":"p","namespace":"team-a","uid":"uid-p","resourceVersion":"1",
		"annotations":{"kubernetes.io/config.mirror":"x"}},"status":{"phase":"Succeeded"}}`}
	podOwner := &policy.Owner{Kind: fixture.Pods, Name: "p", UID: "uid-p"}
	of := func(kind schema.GroupVersionKind) *policy.Owner {
		return &policy.Owner{Kind: kind, Name: "x", UID: "uid-x"}
	}
	tests := map[string]struct {
		owner   *policy.Owner
		options []func(*policy.Rule)
		subject policy.Subject
		answers answers
		result  retention.Result
		err     string
	}{
		"not found":                   {owner, nil, owned, answers{"GET " + jobPath: ""}, retention.Gone, "not found"},
		"another UID":                 {owner, nil, owned, answers{"GET " + jobPath: strings.Replace(jobWith("", finished), "uid-job", "uid-2", 1)}, retention.Gone, "garbage collection"},
		"terminating":                 {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"deletionTimestamp":"2026-03-01T12:00:00Z"`, finished)}, retention.Gone, "garbage collection"},
		"held":                        {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset-k8s.io/hold":"true"}`, finished)}, retention.Refused, "owner Job/nightly is held"},
		"held without a reason":       {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset-k8s.io/hold":""}`, finished)}, retention.Refused, "is held"},
		"hold: false":                 {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset-k8s.io/hold":"false"}`, finished)}, retention.Removed, ""},
		"not finished":                {owner, nil, owned, answers{"GET " + jobPath: jobWith("", running)}, retention.Refused, "owner Job/nightly has not finished; set allowUnfinishedOwner: true"},
		"not finished, but allowed":   {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith("", running)}, retention.Removed, ""},
		"held and not finished":       {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset-k8s.io/hold":"true"}`, running)}, retention.Refused, "is held"},
		"a kind that never finishes":  {secret, nil, owned, answers{"GET /api/v1/namespaces/team-a/secrets/s": `{"metadata":{"name":"s","namespace":"team-a","uid":"uid-s","resourceVersion":"1"}}`}, retention.Refused, "owner Secret/s has not finished, or Sunset cannot determine it: v1 Secret never finishes; set allowUnfinishedOwner: true"},
		"an uncounted Pod":            {podOwner, nil, owned, pods2, retention.Refused, "has not been counted"},
		"a mirror Pod":                {podOwner, nil, owned, mirror, retention.Refused, "mirror"},
		"another object is returned":  {owner, nil, owned, answers{"GET " + jobPath: strings.Replace(jobWith("", finished), `"team-a"`, `"team-b"`, 1)}, retention.Refused, "another object"},
		"Argo CD tracks it":           {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith(tracked, finished)}, retention.Refused, "owner Job/nightly is managed by another controller: Argo CD tracks it (annotation argocd.argoproj.io/tracking-id); set allowManaged: true"},
		"tracked, but allowed":        {owner, []func(*policy.Rule){allowManaged}, owned, answers{"GET " + jobPath: jobWith(tracked, finished)}, retention.Removed, ""},
		"tracked, and not finished":   {owner, []func(*policy.Rule){allowManaged}, owned, answers{"GET " + jobPath: jobWith(tracked, running)}, retention.Refused, "has not finished"},
		"tracked and cluster-scoped":  {cluster, []func(*policy.Rule){allowManaged}, owned, trackedCluster, retention.Refused, "owner Cluster/c is managed by another controller"},
		"another is tracked":          {owner, nil, owned, answers{"GET " + jobPath: jobWith(strings.Replace(tracked, "nightly", "other", 1), finished)}, retention.Removed, ""},
		"no permission to get":        {owner, nil, owned, answers{"GET " + jobPath: `403 Forbidden cannot get resource "jobs"`}, retention.Refused, "cannot get"},
		"no permission to delete":     {owner, nil, owned, answers{"DELETE " + jobPath: `403 Forbidden cannot delete resource "jobs"`}, retention.Refused, "cannot delete"},
		"the server is busy":          {owner, nil, owned, answers{"GET " + jobPath: "429 TooManyRequests"}, retention.Busy, "429"},
		"a protected kind":            {of(schema.GroupVersionKind{Version: "v1", Kind: "Node"}), nil, owned, nil, retention.Refused, "Node is a protected kind"},
		"a protected claim":           {of(schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"a Role":                      {of(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"a kind of Sunset":            {of(v1alpha1.RetentionPolicyKind), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"a kind that is not served":   {of(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nothing"}), nil, owned, nil, retention.Refused, `no matches for kind "Nothing"`},
		"an aggregated API server":    {owner, nil, owned, answers{"GET " + batchServed: `{"spec":{"service":{"name":"x"}}}`}, retention.Refused, "aggregated API server"},
		"cluster-scoped":              {cluster, []func(*policy.Rule){allowUnfinished}, owned, cluster1, retention.Refused, "has not finished, and is cluster-scoped"},
		"cluster-scoped, team's rule": {cluster, []func(*policy.Rule){allowUnfinished, ofATeam}, owned, cluster1, retention.Refused, "the rules of a RetentionPolicy apply only in its namespace"},
		"cluster-scoped subject":      {owner, nil, policy.Subject{Name: "c", UID: "uid-c", ResourceVersion: "1", Created: now}, nil, retention.Refused, "the object that it owns is cluster-scoped"},
		"in a protected namespace":    {owner, nil, policy.Subject{Namespace: "kube-system", Name: "c", UID: "uid-c", ResourceVersion: "1", Created: now}, nil, retention.Refused, "protected namespace"},

		"the subject has changed":   {owner, nil, owned, answers{"GET " + podPath: podAt("uid-pod", "6")}, retention.Changed, "the object has changed since it was evaluated"},
		"the subject is deleted":    {owner, nil, owned, answers{"GET " + podPath: ""}, retention.Gone, "not found"},
		"the subject has a new UID": {owner, nil, owned, answers{"GET " + podPath: podAt("uid-2", "5")}, retention.Gone, "another object now has its name"},
		"the response has no body":  {owner, nil, owned, answers{"GET " + podPath: "204 Nothing"}, retention.Failed, "read Pod"},
		"the read fails":            {owner, nil, owned, answers{"GET " + podPath: "500 InternalError"}, retention.Busy, "500"},
		"the owner has changed":     {owner, nil, owned, answers{"DELETE " + jobPath: "409 Conflict"}, retention.Changed, "409"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, requests := on(t, fine(test.answers))
			o := remove(t.Context(), c, ownerPermit(t, test.subject, test.owner, test.options...))
			expect.Equal(t, "result", test.result, o.Result)
			if test.err == "" && o.Err != nil || test.err != "" && (o.Err == nil || !strings.Contains(o.Err.Error(), test.err)) {
				t.Errorf("error %v, want %q", o.Err, test.err)
			}
			asked := strings.Join(order(requests), " ")
			if deletes := strings.Contains(test.err, "delete") || strings.Contains(test.err, "409") || test.err == ""; strings.Contains(asked, "DELETE") != deletes {
				t.Errorf("requests %s", asked)
			}
			if o.Unsure && !strings.Contains(asked, "DELETE") {
				t.Error("unsure without a DELETE")
			}
		})
	}
}

// TestFinishedOwnerInNoNamespaceMayGo: a rule of a ClusterRetentionPolicy deletes a finished owner that is cluster-scoped.
func TestFinishedOwnerInNoNamespaceMayGo(t *testing.T) {
	const path = "/apis/example.org/v1/clusters/c"
	c, requests := on(t, fine(answers{
		"GET /apis/apiregistration.k8s.io/v1/apiservices/v1.example.org": `{"spec":{}}`,
		"GET " + path:    `{"metadata":{"name":"c","uid":"uid-c","resourceVersion":"1"},` + finished + `}`,
		"DELETE " + path: `{"status":"Success"}`,
	}))
	o := remove(t.Context(), c, ownerPermit(t, owned, &policy.Owner{Kind: clusters, Name: "c", UID: "uid-c"}))
	expect.Equal(t, "result", retention.Removed, o.Result)
	expect.Equal(t, "the last request", "DELETE "+path, order(requests)[len(*requests)-1])
}

// TestResolveTargetRechecksOwnerKindAfterAMinute: an aggregated API server may serve the kind by then, and may ignore
// preconditions.
func TestResolveTargetRechecksOwnerKindAfterAMinute(t *testing.T) {
	clock, all := clocktesting.NewFakeClock(now), fine(nil)
	server := answer.Func(func(r *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		_, _ = recorder.WriteString(all[r.Method+" "+r.URL.Path])
		return recorder.Result(), nil
	})
	c := clusterWith(t, &rest.Config{Host: "http://server", QPS: -1}, &http.Client{Transport: server}, clock)
	blocked := func() bool {
		_, blocked := c.ResolveTarget(t.Context(), ownerPermit(t, owned, owner).Intent())
		return blocked != nil
	}
	expect.Equal(t, "blocked", false, blocked())
	all["GET "+batchServed] = `{"spec":{"service":{"name":"x"}}}`
	clock.Step(time.Minute - 1)
	expect.Equal(t, "blocked a nanosecond before a minute has passed", false, blocked())
	clock.Step(1)
	expect.Equal(t, "blocked after a minute", true, blocked())
}

// TestPrepareOnlyTheResolvedTarget: a target that the permit does not name is refused without a request.
func TestPrepareOnlyTheResolvedTarget(t *testing.T) {
	c, requests := on(t, fine(nil))
	ofOwner, ofSubject := ownerPermit(t, owned, owner), permit(t, fixture.Pods, owned, metav1.DeletePropagationBackground)
	target := policy.Target{Kind: fixture.Jobs, Namespace: "team-a", Name: "nightly", UID: "uid-job", ResourceVersion: "9"}
	other := target
	other.UID = "uid-2"
	unread := target
	unread.ResourceVersion = ""
	for name, o := range map[string]retention.Outcome{
		"another owner":             removeTarget(t.Context(), c, ofOwner, other),
		"an owner without version":  removeTarget(t.Context(), c, ofOwner, unread),
		"the subject for the owner": removeTarget(t.Context(), c, ofOwner, policy.TargetOf(fixture.Pods, owned)),
		"the owner for the subject": removeTarget(t.Context(), c, ofSubject, target),
		"the zero target":           removeTarget(t.Context(), c, ofSubject, policy.Target{}),
		"without a permit":          removeTarget(t.Context(), c, policy.DeletePermit{}, target),
		"neither":                   removeTarget(t.Context(), c, policy.DeletePermit{}, policy.Target{}),
	} {
		if o.Result != retention.Refused || o.Err == nil {
			t.Errorf("%s: %s, %v", name, o.Result, o.Err)
		}
	}
	expect.Equal(t, "requests", nil, order(requests))
}

// TestOfASecretOnlyMetadataIsRead: only the metadata of a Secret is read, even if the Secret is an owner.
func TestOfASecretOnlyMetadataIsRead(t *testing.T) {
	accepts := map[string]string{}
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accepts[r.URL.Path] = r.Header.Get("Accept")
		_, _ = w.Write([]byte(`{"metadata":{"name":"s","namespace":"team-a","uid":"uid-s","resourceVersion":"1"}}`))
	})
	_, _ = c.ResolveTarget(t.Context(), ownerPermit(t, owned, &policy.Owner{Kind: fixture.Secrets, Name: "s", UID: "uid-s"}).Intent())
	expect.Equal(t, "accepts", map[string]string{"/api/v1/namespaces/team-a/secrets/s": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}, accepts)
}

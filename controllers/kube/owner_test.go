package kube_test

import (
	"fmt"
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

// ownerWarrant lets the owner of a Pod go.
func ownerWarrant(t *testing.T, s policy.Subject, owner *policy.Owner, options ...func(*policy.Rule)) policy.DeletePermit {
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
		t.Fatal("no warrant for an owner")
	}
	return w
}

func allowUnfinished(r *policy.Rule) { r.AllowUnfinished = true }
func allowManaged(r *policy.Rule)    { r.AllowManaged = true }
func ofATeam(r *policy.Rule)         { r.Namespace = "team-a" }

// answers are the API server's by METHOD PATH; what has none is not found.
type answers map[string]string

const (
	jobPath     = "/apis/batch/v1/namespaces/team-a/jobs/nightly"
	podPath     = "/api/v1/namespaces/team-a/pods/pod"
	batchServed = "/apis/apiregistration.k8s.io/v1/apiservices/v1.batch"
	finished    = `"status":{"conditions":[{"type":"Complete","status":"True"}]}`
)

// jobWith is a Job with this in its metadata, at version 9.
func jobWith(metadata, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"nightly","namespace":"team-a","uid":"uid-job","resourceVersion":"9"%s},%s}`, metadata, rest)
}

func podAt(uid, version string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","metadata":{"name":"pod","namespace":"team-a","uid":%q,"resourceVersion":%q}}`, uid, version)
}

// fine are the answers when nothing stands in the way, but for what is given.
func fine(but answers) answers {
	all := answers{
		"GET " + batchServed: `{"spec":{}}`, "GET " + jobPath: jobWith("", finished), "GET " + podPath: podAt("uid-pod", "5"),
		"DELETE " + jobPath: `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
	}
	for path, answer := range but {
		all[path] = answer
	}
	return all
}

// on is a Cluster whose API server gives the answers: JSON, or CODE REASON MESSAGE.
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

// order is what was asked, in order.
func order(requests *[]asked) []string {
	var all []string
	for _, r := range *requests {
		all = append(all, r.Method+" "+r.Path)
	}
	return all
}

func TestTheRequestsThatLetAnOwnerGo(t *testing.T) {
	c, requests := on(t, fine(nil))
	w := ownerWarrant(t, owned, owner)
	target, blocked := c.ResolveTarget(t.Context(), w.Intent())
	if blocked != nil {
		t.Fatal(blocked.Err)
	}
	expect.Equal(t, "target", policy.Target{Kind: fixture.Jobs, Namespace: "team-a", Name: "nightly", UID: "uid-job", ResourceVersion: "9"}, target)
	prepared, blocked := c.Prepare(t.Context(), w, target)
	if blocked != nil {
		t.Fatal(blocked.Err)
	}
	expect.Equal(t, "requests before the rules are asked again", []string{"GET " + batchServed, "GET " + jobPath, "GET " + podPath}, order(requests))
	expect.Equal(t, "result", retention.Removed, prepared.Send(t.Context(), w, time.Now()).Result)
	expect.Equal(t, "requests", []string{"GET " + batchServed, "GET " + jobPath, "GET " + podPath, "DELETE " + jobPath}, order(requests))
	expect.Equal(t, "DELETE", map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
		"preconditions": map[string]any{"uid": "uid-job", "resourceVersion": "9"},
	}, (*requests)[3].Body)
	for _, r := range *requests {
		expect.Equal(t, "query", "", r.Query) // above all no resourceVersion, which would let a cache answer
	}
	*requests = nil
	_, _ = c.ResolveTarget(t.Context(), w.Intent())
	expect.Equal(t, "who serves the kind is remembered", []string{"GET " + jobPath}, order(requests))
}

// TestWhatStandsInTheWayOfAnOwner: nothing is deleted, and the error says why.
func TestWhatStandsInTheWayOfAnOwner(t *testing.T) {
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
		"it is not there":             {owner, nil, owned, answers{"GET " + jobPath: ""}, retention.Gone, "not found"},
		"a namesake":                  {owner, nil, owned, answers{"GET " + jobPath: strings.Replace(jobWith("", finished), "uid-job", "uid-2", 1)}, retention.Gone, "garbage collection"},
		"terminating":                 {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"deletionTimestamp":"2026-03-01T12:00:00Z"`, finished)}, retention.Gone, "garbage collection"},
		"held":                        {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset.x-k8s.io/hold":"true"}`, finished)}, retention.Refused, "owner Job/nightly is held"},
		"held without a reason":       {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset.x-k8s.io/hold":""}`, finished)}, retention.Refused, "is held"},
		"not held any more":           {owner, nil, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset.x-k8s.io/hold":"false"}`, finished)}, retention.Removed, ""},
		"not finished":                {owner, nil, owned, answers{"GET " + jobPath: jobWith("", running)}, retention.Refused, "owner Job/nightly has not finished; set allowUnfinishedOwner: true"},
		"not finished, which may be":  {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith("", running)}, retention.Removed, ""},
		"held and not finished":       {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith(`,"annotations":{"sunset.x-k8s.io/hold":"true"}`, running)}, retention.Refused, "is held"},
		"it cannot be told":           {secret, nil, owned, answers{"GET /api/v1/namespaces/team-a/secrets/s": `{"metadata":{"name":"s","namespace":"team-a","uid":"uid-s","resourceVersion":"1"}}`}, retention.Refused, "owner Secret/s has not finished, or Sunset cannot tell: v1 Secret never finishes; set allowUnfinishedOwner: true"},
		"an uncounted Pod":            {podOwner, nil, owned, pods2, retention.Refused, "has not been counted"},
		"a mirror Pod":                {podOwner, nil, owned, mirror, retention.Refused, "mirror"},
		"another object answers":      {owner, nil, owned, answers{"GET " + jobPath: strings.Replace(jobWith("", finished), `"team-a"`, `"team-b"`, 1)}, retention.Refused, "another object"},
		"Argo CD tracks it":           {owner, []func(*policy.Rule){allowUnfinished}, owned, answers{"GET " + jobPath: jobWith(tracked, finished)}, retention.Refused, "owner Job/nightly is managed by another controller: Argo CD tracks it, by annotation argocd.argoproj.io/tracking-id; set allowManaged: true"},
		"tracked, which may be":       {owner, []func(*policy.Rule){allowManaged}, owned, answers{"GET " + jobPath: jobWith(tracked, finished)}, retention.Removed, ""},
		"tracked, and not finished":   {owner, []func(*policy.Rule){allowManaged}, owned, answers{"GET " + jobPath: jobWith(tracked, running)}, retention.Refused, "has not finished"},
		"tracked, in no namespace":    {cluster, []func(*policy.Rule){allowManaged}, owned, trackedCluster, retention.Refused, "owner Cluster/c is managed by another controller"},
		"another is tracked":          {owner, nil, owned, answers{"GET " + jobPath: jobWith(strings.Replace(tracked, "nightly", "other", 1), finished)}, retention.Removed, ""},
		"nobody may read it":          {owner, nil, owned, answers{"GET " + jobPath: `403 Forbidden cannot get resource "jobs"`}, retention.Refused, "cannot get"},
		"nobody may delete it":        {owner, nil, owned, answers{"DELETE " + jobPath: `403 Forbidden cannot delete resource "jobs"`}, retention.Refused, "cannot delete"},
		"the server is busy":          {owner, nil, owned, answers{"GET " + jobPath: "429 TooManyRequests"}, retention.Busy, "429"},
		"a protected kind":            {of(schema.GroupVersionKind{Version: "v1", Kind: "Node"}), nil, owned, nil, retention.Refused, "Node is a protected kind"},
		"a protected claim":           {of(schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"rights":                      {of(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"our own kinds":               {of(v1alpha1.RetentionPolicyKind), []func(*policy.Rule){allowUnfinished}, owned, nil, retention.Refused, "protected kind"},
		"a kind nobody serves":        {of(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nothing"}), nil, owned, nil, retention.Refused, "no kind Nothing"},
		"another API server's kind":   {owner, nil, owned, answers{"GET " + batchServed: `{"spec":{"service":{"name":"x"}}}`}, retention.Refused, "aggregated API server"},
		"in no namespace":             {cluster, []func(*policy.Rule){allowUnfinished}, owned, cluster1, retention.Refused, "has not finished, and is cluster-scoped"},
		"in no namespace, of a team":  {cluster, []func(*policy.Rule){allowUnfinished, ofATeam}, owned, cluster1, retention.Refused, "the rules of a RetentionPolicy apply only in its namespace"},
		"in a namespace of a cluster": {owner, nil, policy.Subject{Name: "c", UID: "uid-c", ResourceVersion: "1", Created: now}, nil, retention.Refused, "the object that it owns is cluster-scoped"},
		"in a protected namespace":    {owner, nil, policy.Subject{Namespace: "kube-system", Name: "c", UID: "uid-c", ResourceVersion: "1", Created: now}, nil, retention.Refused, "protected namespace"},

		"the subject has changed":   {owner, nil, owned, answers{"GET " + podPath: podAt("uid-pod", "6")}, retention.Changed, "the object has changed since it was evaluated"},
		"the subject is gone":       {owner, nil, owned, answers{"GET " + podPath: ""}, retention.Gone, "not found"},
		"the subject is a namesake": {owner, nil, owned, answers{"GET " + podPath: podAt("uid-2", "5")}, retention.Gone, "another object now has its name"},
		"an answer without it":      {owner, nil, owned, answers{"GET " + podPath: "204 Nothing"}, retention.Failed, "read Pod"},
		"nobody can read it":        {owner, nil, owned, answers{"GET " + podPath: "500 InternalError"}, retention.Busy, "500"},
		"the owner has changed":     {owner, nil, owned, answers{"DELETE " + jobPath: "409 Conflict"}, retention.Changed, "409"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, requests := on(t, fine(test.answers))
			o := remove(t.Context(), c, ownerWarrant(t, test.subject, test.owner, test.options...))
			expect.Equal(t, "result", test.result, o.Result)
			if test.err == "" && o.Err != nil || test.err != "" && (o.Err == nil || !strings.Contains(o.Err.Error(), test.err)) {
				t.Errorf("error %v, want %q", o.Err, test.err)
			}
			asked := strings.Join(order(requests), " ")
			if deletes := strings.Contains(test.err, "delete") || strings.Contains(test.err, "409") || test.err == ""; strings.Contains(asked, "DELETE") != deletes {
				t.Errorf("asked %s", asked)
			}
			if o.Unsure && !strings.Contains(asked, "DELETE") {
				t.Error("unsure of what was not tried")
			}
		})
	}
}

// TestAFinishedOwnerInNoNamespaceMayGo: on the word of a rule of the cluster.
func TestAFinishedOwnerInNoNamespaceMayGo(t *testing.T) {
	const path = "/apis/example.org/v1/clusters/c"
	c, requests := on(t, fine(answers{
		"GET /apis/apiregistration.k8s.io/v1/apiservices/v1.example.org": `{"spec":{}}`,
		"GET " + path:    `{"metadata":{"name":"c","uid":"uid-c","resourceVersion":"1"},` + finished + `}`,
		"DELETE " + path: `{"status":"Success"}`,
	}))
	o := remove(t.Context(), c, ownerWarrant(t, owned, &policy.Owner{Kind: clusters, Name: "c", UID: "uid-c"}))
	expect.Equal(t, "result", retention.Removed, o.Result)
	expect.Equal(t, "the last request", "DELETE "+path, order(requests)[len(*requests)-1])
}

// TestWhoServesAnOwnersKindIsAskedAgainAfterAMinute: another API server may serve it by then, which may ignore preconditions.
func TestWhoServesAnOwnersKindIsAskedAgainAfterAMinute(t *testing.T) {
	clock, all := clocktesting.NewFakeClock(now), fine(nil)
	server := answer.Func(func(r *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		_, _ = recorder.WriteString(all[r.Method+" "+r.URL.Path])
		return recorder.Result(), nil
	})
	c, err := kube.New(kube.Options{
		Config: &rest.Config{Host: "http://server", QPS: -1}, HTTP: &http.Client{Transport: server}, Mapper: mapper(), Clock: clock,
		Compiler: fixture.Compiler(t), Protection: policy.DefaultProtection(),
	})
	expect.NoError(t, err)
	blocked := func() bool {
		_, blocked := c.ResolveTarget(t.Context(), ownerWarrant(t, owned, owner).Intent())
		return blocked != nil
	}
	expect.Equal(t, "blocked", false, blocked())
	all["GET "+batchServed] = `{"spec":{"service":{"name":"x"}}}`
	clock.Step(time.Minute - 1)
	expect.Equal(t, "blocked a nanosecond before a minute has passed", false, blocked())
	clock.Step(1)
	expect.Equal(t, "blocked after a minute", true, blocked())
}

// TestOnlyWhatWasAimedAtIsRemoved: a target that is not the permit's is refused without a request.
func TestOnlyWhatWasAimedAtIsRemoved(t *testing.T) {
	c, requests := on(t, fine(nil))
	ofOwner, ofSubject := ownerWarrant(t, owned, owner), warrant(t, fixture.Pods, owned, metav1.DeletePropagationBackground)
	target := policy.Target{Kind: fixture.Jobs, Namespace: "team-a", Name: "nightly", UID: "uid-job", ResourceVersion: "9"}
	other := target
	other.UID = "uid-2"
	unread := target
	unread.ResourceVersion = ""
	for name, o := range map[string]retention.Outcome{
		"another owner":               removeTarget(t.Context(), c, ofOwner, other),
		"an owner nobody has read":    removeTarget(t.Context(), c, ofOwner, unread),
		"the subject for the owner":   removeTarget(t.Context(), c, ofOwner, policy.TargetOf(fixture.Pods, owned)),
		"the owner for the subject":   removeTarget(t.Context(), c, ofSubject, target),
		"nothing at all":              removeTarget(t.Context(), c, ofSubject, policy.Target{}),
		"without a warrant, an owner": removeTarget(t.Context(), c, policy.DeletePermit{}, target),
	} {
		if o.Result != retention.Refused || o.Err == nil {
			t.Errorf("%s: %s, %v", name, o.Result, o.Err)
		}
	}
	expect.Equal(t, "requests", nil, order(requests))
}

// TestOfASecretOnlyMetadataIsRead: even where a Secret is an owner.
func TestOfASecretOnlyMetadataIsRead(t *testing.T) {
	accepts := map[string]string{}
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accepts[r.URL.Path] = r.Header.Get("Accept")
		_, _ = w.Write([]byte(`{"metadata":{"name":"s","namespace":"team-a","uid":"uid-s","resourceVersion":"1"}}`))
	})
	_, _ = c.ResolveTarget(t.Context(), ownerWarrant(t, owned, &policy.Owner{Kind: fixture.Secrets, Name: "s", UID: "uid-s"}).Intent())
	expect.Equal(t, "accepts", map[string]string{"/api/v1/namespaces/team-a/secrets/s": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}, accepts)
}

// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// asked is a request that the server received.
type asked struct {
	Method, Path, Query, ContentType string
	Body                             map[string]any
}

// serve starts an API server that handles every request with answer, and returns a Cluster of it and its requests.
func serve(t *testing.T, answer http.HandlerFunc) (*kube.Cluster, *[]asked) {
	t.Helper()
	var requests []asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := asked{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, ContentType: r.Header.Get("Content-Type")}
		data, err := io.ReadAll(r.Body)
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &got.Body)
		}
		if err != nil {
			t.Error(err)
		}
		requests = append(requests, got)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return clusterAt(t, &rest.Config{Host: server.URL}, server.Client()), &requests
}

func clusterAt(t *testing.T, config *rest.Config, client *http.Client) *kube.Cluster {
	t.Helper()
	return clusterWith(t, config, client, clock.RealClock{})
}

func clusterWith(t *testing.T, config *rest.Config, client *http.Client, at clock.Clock) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Options{
		Config: config, HTTP: client, Mapper: mapper(), Clock: at, Compiler: fixture.Compiler(t), Protection: policy.DefaultProtection(),
	})
	expect.NoError(t, err)
	return c
}

// remove resolves the target and deletes it.
func remove(ctx context.Context, c *kube.Cluster, w policy.DeletePermit) retention.Outcome {
	target, blocked := c.ResolveTarget(ctx, w.Intent())
	if blocked != nil {
		return *blocked
	}
	return removeTarget(ctx, c, w, target)
}

// prepare returns the clearance to delete the Job nightly, and the prepared deletion.
func prepare(t *testing.T, c *kube.Cluster) (policy.Clearance, retention.Prepared) {
	t.Helper()
	w := permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground)
	prepared, blocked := c.Prepare(t.Context(), w, policy.TargetOf(fixture.Jobs, nightly))
	if blocked != nil {
		t.Fatal(blocked.Err)
	}
	return fixture.Clear(t, w, policy.TargetOf(fixture.Jobs, nightly)), prepared
}

// removeTarget prepares a deletion and sends it.
func removeTarget(ctx context.Context, c *kube.Cluster, w policy.DeletePermit, target policy.Target) retention.Outcome {
	prepared, blocked := c.Prepare(ctx, w, target)
	if blocked != nil {
		return *blocked
	}
	cleared, err := policy.Clear(w, target, policy.Receipt{}, policy.SnapshotReceipt{})
	if err != nil {
		return retention.Outcome{Result: retention.Refused, Err: err, Unsent: true}
	}
	return prepared.Send(ctx, cleared, time.Now())
}

func ok(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
}

// TestSendNeedsAClearanceForItsTarget: nothing is sent without a clearance, or with one for another version or object.
func TestSendNeedsAClearanceForItsTarget(t *testing.T) {
	c, requests := serve(t, ok)
	later, other := nightly, nightly
	later.ResourceVersion, other.UID = "18", "uid-2"
	_, prepared := prepare(t, c)
	for name, s := range map[string]*policy.Subject{"none": nil, "another version": &later, "another object": &other} {
		var cleared policy.Clearance
		if s != nil {
			cleared = fixture.Clear(t, permit(t, fixture.Jobs, *s, metav1.DeletePropagationBackground), policy.TargetOf(fixture.Jobs, *s))
		}
		if o := prepared.Send(t.Context(), cleared, time.Now()); o.Result != retention.Refused || !o.Unsent || o.Err == nil {
			t.Errorf("%s: %s, unsent %v, %v", name, o.Result, o.Unsent, o.Err)
		}
	}
	expect.Equal(t, "requests", 0, len(*requests))
}

func TestRequestThatDeletes(t *testing.T) {
	tests := map[string]struct {
		kind        schema.GroupVersionKind
		subject     policy.Subject
		propagation metav1.DeletionPropagation
		path        string
	}{
		"named group": {fixture.Jobs, policy.Subject{Namespace: "team-a", Name: "nightly", UID: "uid-1", ResourceVersion: "17"},
			metav1.DeletePropagationBackground, "/apis/batch/v1/namespaces/team-a/jobs/nightly"},
		"core group": {fixture.Pods, policy.Subject{Namespace: "team-a", Name: "web-0", UID: "uid-2", ResourceVersion: "18"},
			metav1.DeletePropagationForeground, "/api/v1/namespaces/team-a/pods/web-0"},
		"cluster-scoped": {clusters, policy.Subject{Name: "blue", UID: "uid-3", ResourceVersion: "19"},
			metav1.DeletePropagationOrphan, "/apis/example.org/v1/clusters/blue"},
		"a name with special characters": {clusters, policy.Subject{Name: "system:blue?x=1#y z", UID: "uid-4", ResourceVersion: "20"},
			metav1.DeletePropagationBackground, "/apis/example.org/v1/clusters/system:blue?x=1#y z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, ok)
			o := remove(t.Context(), c, permit(t, test.kind, test.subject, test.propagation))
			expect.Equal(t, "result", retention.Removed, o.Result)
			expect.Equal(t, "requests", []asked{{
				Method: "DELETE", Path: test.path, ContentType: "application/json",
				Body: map[string]any{
					"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": string(test.propagation),
					"preconditions": map[string]any{"uid": string(test.subject.UID), "resourceVersion": test.subject.ResourceVersion},
				},
			}}, *requests)
		})
	}
}

var nightly = policy.Subject{Namespace: "team-a", Name: "nightly", UID: "uid-1", ResourceVersion: "17"}

func TestServerMayStandBelowAPath(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		ok(w, r)
	}))
	t.Cleanup(server.Close)
	below := clusterAt(t, &rest.Config{Host: server.URL + "/k8s/clusters/c-1"}, server.Client())
	remove(t.Context(), below, permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground))
	expect.Equal(t, "paths", []string{"/k8s/clusters/c-1/apis/batch/v1/namespaces/team-a/jobs/nightly"}, paths)
}

func TestKindNobodyServesIsNotDeleted(t *testing.T) {
	c, requests := serve(t, ok)
	unknown := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Unknown"}
	o := remove(t.Context(), c, permit(t, unknown, nightly, metav1.DeletePropagationBackground))
	expect.Equal(t, "result", retention.Failed, o.Result)
	if o.Err == nil {
		t.Error("no error")
	}
	expect.Equal(t, "requests", nil, *requests)
}

func TestRemoveSendsOneRequest(t *testing.T) {
	for name, code := range map[string]int{"busy": 429, "overloaded": 503, "broken": 500, "conflict": 409} {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(code)
			})
			began := time.Now()
			remove(t.Context(), c, permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground))
			expect.Equal(t, "requests", 1, len(*requests))
			if waited := time.Since(began); waited > 20*time.Second {
				t.Errorf("waited %s", waited)
			}
		})
	}
}

func TestRedirectIsNoDeletion(t *testing.T) {
	c, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/login" {
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("<html>who are you?</html>"))
	})
	o := remove(t.Context(), c, permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground))
	if o.Result == retention.Removed || o.Result == retention.Gone {
		t.Errorf("%s after %v", o.Result, *requests)
	}
}

func TestRemoveWithoutResponseIsUnsure(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	})
	o := remove(t.Context(), c, permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground))
	expect.Equal(t, "result", retention.Failed, o.Result)
	if o.Err == nil || !o.Unsure || o.Unsent {
		t.Errorf("error %v, unsure %v, unsent %v; want unsure, because the DELETE may have been carried out", o.Err, o.Unsure, o.Unsent)
	}
}

func TestRemoveEndsWithItsContext(t *testing.T) {
	c, requests := serve(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Equal(t, "result", retention.Failed, remove(ctx, c, permit(t, fixture.Jobs, nightly, metav1.DeletePropagationBackground)).Result)
	expect.Equal(t, "requests", nil, *requests)
}

func TestOutcomeOf(t *testing.T) {
	status := func(reason metav1.StatusReason, retryAfter int32) string {
		s := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Message: "said so"}
		if retryAfter > 0 {
			s.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
		}
		data, err := json.Marshal(s)
		expect.NoError(t, err)
		return string(data)
	}
	said := func(reason metav1.StatusReason, message string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"details":{"retryAfterSeconds":9}}`, reason, message)
	}
	tests := map[string]struct {
		code   int
		header string // Retry-After
		body   string
		want   retention.Result
		after  time.Duration
	}{
		"deleted":                     {200, "", `{"kind":"Status","status":"Success"}`, retention.Removed, 0},
		"deletion begins":             {202, "", `{"kind":"PartialObjectMetadata"}`, retention.Removed, 0},
		"the object is not found":     {404, "", status(metav1.StatusReasonNotFound, 0), retention.Gone, 0},
		"the path is not found":       {404, "", "404 page not found\n", retention.Failed, 0},
		"a 404 without a body":        {404, "", "", retention.Failed, 0},
		"a conflict":                  {409, "", status(metav1.StatusReasonConflict, 0), retention.Changed, 0},
		"too many requests":           {429, "7", status(metav1.StatusReasonTooManyRequests, 0), retention.Busy, 7 * time.Second},
		"too many, delay in the body": {429, "", status(metav1.StatusReasonTooManyRequests, 9), retention.Busy, 9 * time.Second},
		"too many, no delay":          {429, "", "slow down", retention.Busy, 0},
		"too many, a date":            {429, "Wed, 21 Oct 2026 07:28:00 GMT", "", retention.Busy, 0},
		"too many, a negative delay":  {429, "-5", "", retention.Busy, 0},
		"unavailable":                 {503, "2", "", retention.Busy, 2 * time.Second},
		"an internal error":           {500, "", status(metav1.StatusReasonInternalError, 0), retention.Busy, 0},
		"a webhook that does not respond": {500, "", said(metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: `+
			`Post "https://a.ns.svc:443/?timeout=10s": context deadline exceeded`), retention.Unadmitted, 0},
		"a webhook that returns 500": {500, "", said(metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: `+
			`an error on the server ("") has prevented the request from succeeding`), retention.Unadmitted, 0},
		"a webhook denies it":                 {403, "", said(metav1.StatusReasonForbidden, `admission webhook "a.example.com" denied the request: no`), retention.Refused, 0},
		"a webhook denies it with a 429":      {429, "9", said(metav1.StatusReasonTooManyRequests, `admission webhook "a.example.com" denied the request: later`), retention.Refused, 0},
		"a webhook denies it with a 500":      {500, "", said(metav1.StatusReasonInternalError, `admission webhook "a.example.com" denied the request without explanation`), retention.Refused, 0},
		"a webhook denies it with a 404":      {404, "", said(metav1.StatusReasonNotFound, `admission webhook "a.example.com" denied the request: no such thing`), retention.Refused, 0},
		"a webhook denies it with a 409":      {409, "", said(metav1.StatusReasonConflict, `admission webhook "a.example.com" denied the request: no`), retention.Refused, 0},
		"a webhook denies like an authorizer": {403, "", said(metav1.StatusReasonForbidden, `admission webhook "a.example.com" denied the request: bob cannot delete resource x`), retention.Refused, 0},
		"an error that quotes a webhook":      {500, "", said(metav1.StatusReasonInternalError, `etcd says: failed calling webhook "a.example.com"`), retention.Busy, 9 * time.Second},
		"a timeout":                           {504, "", status(metav1.StatusReasonTimeout, 0), retention.Busy, 0},
		"forbidden":                           {403, "", status(metav1.StatusReasonForbidden, 0), retention.Refused, 0},
		"forbidden; Retry-After is ignored":   {403, "30", status(metav1.StatusReasonForbidden, 0), retention.Refused, 0},
		"unauthorized":                        {401, "", status(metav1.StatusReasonUnauthorized, 0), retention.Refused, 0},
		"not allowed":                         {405, "", status(metav1.StatusReasonMethodNotAllowed, 0), retention.Refused, 0},
		"invalid":                             {422, "", status(metav1.StatusReasonInvalid, 0), retention.Refused, 0},
		"a redirect":                          {302, "", "", retention.Failed, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if test.header != "" {
				header.Set("Retry-After", test.header)
			}
			o := kube.OutcomeOf(test.code, header, []byte(test.body))
			expect.Equal(t, "result", test.want, o.Result)
			expect.Equal(t, "retry after", test.after, o.RetryAfter)
			expect.Equal(t, "unsure", test.code >= 500, o.Unsure)
			if (o.Err == nil) != (test.want == retention.Removed) {
				t.Errorf("error %v", o.Err)
			}
			if o.Err != nil && o.Err.Error() == "" {
				t.Error("an error without a message")
			}
		})
	}
}

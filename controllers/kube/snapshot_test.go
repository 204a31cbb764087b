// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var data = policy.Subject{Namespace: "shop", Name: "data", UID: "u", ResourceVersion: "7", Created: now}

// claimPermit returns a permit to delete the claim data by a rule that makes a snapshot first.
func claimPermit(t *testing.T) policy.DeletePermit {
	t.Helper()
	r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Kind: policy.ClaimKind, Mode: v1alpha1.Enforce, Snapshot: &policy.ClaimSnapshot{ClassName: "fast"}}
	snapshot := policy.NewSnapshot([]*policy.Policy{{Name: "p", Namespaces: labels.Everything(), Rules: []*policy.Rule{r}}}, nil, policy.Protection{})
	facts := policy.Facts{Selected: true, Eligible: true, Start: now}
	_, permit := policy.Decide(data, []policy.Evaluation{{Rule: snapshot.Rules(policy.ClaimKind.GroupKind())[0], Facts: facts, Known: true}}, now.Add(time.Hour))
	if !permit.Valid() {
		t.Fatal("no permit")
	}
	return permit.WithObserved(now.Add(time.Hour))
}

// respond responds to requests by method and kind, with a code and a body.
func respond(by map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		kind := "claim"
		if strings.Contains(r.URL.Path, "volumesnapshots") {
			kind = "snapshot"
		}
		code, body, _ := strings.Cut(by[r.Method+" "+kind], " ")
		var status int
		_, _ = fmt.Sscan(code, &status)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const (
	missing   = `404 {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "volumesnapshots \"x\" not found"}`
	forbidden = `403 {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "volumesnapshots is forbidden: User \"sunset\" cannot create resource"}`
	exists    = `409 {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "AlreadyExists", "code": 409, "message": "exists"}`
	claim     = `200 {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "u", "resourceVersion": "8"}, "spec": {"storageClassName": "fast"}}`
)

func TestReadSnapshot(t *testing.T) {
	i := claimPermit(t).Intent()
	made := policy.NewVolumeSnapshot(i, `{"metadata": {"uid": "u"}}`, now)
	pending, err := json.Marshal(made)
	expect.NoError(t, err)
	made.Status.Content, made.Status.ReadyToUse = "content", true
	text, err := json.Marshal(made)
	expect.NoError(t, err)
	ready := strings.Replace(string(text), `"readyToUse"`, `"creationTime":"`+now.Add(time.Hour).UTC().Format(time.RFC3339)+`","readyToUse"`, 1)
	for name, test := range map[string]struct {
		answer string
		err    error
		says   string
	}{
		"ready":                   {"200 " + ready, nil, ""},
		"pending":                 {"200 " + string(pending), policy.ErrSnapshotPending, "not ready"},
		"missing":                 {missing, retention.ErrNoSnapshot, ""},
		"forbidden":               {forbidden, nil, "is forbidden"},
		"another resource":        {"404 page not found", nil, "404 Not Found"},
		"not an object":           {"200 []", nil, "read VolumeSnapshot shop/sunset-u-"},
		"a server that is broken": {"500 {}", nil, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, respond(map[string]string{"GET snapshot": test.answer}))
			r, err := c.ReadSnapshot(t.Context(), i)
			expect.Equal(t, "covers", name == "ready", r.Covers(i))
			if (err == nil) != (name == "ready") || test.err != nil && !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Error(err)
			}
			if test.err != retention.ErrNoSnapshot && errors.Is(err, retention.ErrNoSnapshot) {
				t.Error("it would be created again")
			}
			expect.Equal(t, "path", "/apis/snapshot.storage.k8s.io/v1/namespaces/shop/volumesnapshots/"+i.SnapshotName(), (*requests)[0].Path)
		})
	}
}

func TestCreateSnapshot(t *testing.T) {
	w := claimPermit(t)
	for name, test := range map[string]struct {
		claim, answer string
		requests      int
		says          string // the error; empty for none
	}{
		"created":                     {claim, "201 {}", 2, ""},
		"a response was lost":         {claim, exists, 2, ""},
		"no permission":               {claim, forbidden, 2, "is forbidden"},
		"another claim of the name":   {strings.Replace(claim, `"u"`, `"v"`, 1), "201 {}", 1, "is another one now"},
		"the claim does not exist":    {missing, "201 {}", 1, "not found"},
		"the claim cannot be decoded": {"200 [", "201 {}", 1, "read PersistentVolumeClaim data"},
	} {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, respond(map[string]string{"GET claim": test.claim, "POST snapshot": test.answer}))
			err := c.CreateSnapshot(t.Context(), w)
			expect.Equal(t, "requests", test.requests, len(*requests))
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Error(err)
			}
			if test.requests < 2 {
				return
			}
			sent := (*requests)[1]
			expect.Equal(t, "request", "POST /apis/snapshot.storage.k8s.io/v1/namespaces/shop/volumesnapshots", sent.Method+" "+sent.Path)
			annotations := sent.Body["metadata"].(map[string]any)["annotations"].(map[string]any)
			expect.Equal(t, "manifest", any(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","uid":"u"},"spec":{"storageClassName":"fast"}}`),
				annotations[v1alpha1.SnapshotClaimAnnotation])
		})
	}
	c, requests := serve(t, respond(nil))
	if err := c.CreateSnapshot(t.Context(), policy.DeletePermit{}); err == nil || len(*requests) > 0 {
		t.Errorf("without a permit: %v, %d requests", err, len(*requests))
	}
}

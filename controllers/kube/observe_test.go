// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"net/http"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestObserve(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		answer string
		want   ledger.Observation
		fails  bool
	}{
		"unchanged":   {200, `{"kind":"PartialObjectMetadata","metadata":{"uid":"uid-1","resourceVersion":"17"}}`, ledger.Observation{UID: "uid-1", ResourceVersion: "17"}, false},
		"terminating": {200, `{"metadata":{"uid":"uid-1","resourceVersion":"18","deletionTimestamp":"2026-03-01T12:00:00Z"}}`, ledger.Observation{UID: "uid-1", ResourceVersion: "18", Terminating: true}, false},
		"not found":   {404, `{"kind":"Status","status":"Failure","message":"gone","reason":"NotFound","code":404,"details":{"name":"nightly","kind":"jobs"}}`, ledger.Observation{Absent: true}, false},
		"not served":  {404, `404 page not found`, ledger.Observation{}, true},
		"no resource": {404, `{"kind":"Status","status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","code":404}`, ledger.Observation{}, true},
		"forbidden":   {403, `{"kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}`, ledger.Observation{}, true},
		"broken":      {500, `oops`, ledger.Observation{}, true},
		"not JSON":    {200, `<html>`, ledger.Observation{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = w.Write([]byte(c.answer))
			})
			got, err := cluster.Observe(t.Context(), policy.TargetOf(fixture.Jobs, nightly))
			expect.Equal(t, "observation", c.want, got)
			if (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}

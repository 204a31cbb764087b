package gate_test

import (
	"net/http/httptest"
	"testing"

	"github.com/sunset-k8s/sunset/test/gate"
)

func TestWhatMatches(t *testing.T) {
	for name, test := range map[string]struct {
		match        gate.Match
		method, path string
		want         bool
	}{
		"get":                           {gate.Requests("get", "configmaps"), "GET", "/api/v1/namespaces/a/configmaps/b", true},
		"list":                          {gate.Requests("list", "jobs"), "GET", "/apis/batch/v1/jobs", true},
		"a list is not a get":           {gate.Requests("get", "jobs"), "GET", "/apis/batch/v1/jobs", false},
		"watch":                         {gate.Requests("watch", ""), "GET", "/apis/batch/v1/jobs?watch=1", true},
		"create":                        {gate.Requests("create", "pods"), "POST", "/api/v1/namespaces/a/pods", true},
		"patch":                         {gate.Requests("patch", "pods"), "PATCH", "/api/v1/namespaces/a/pods/b", true},
		"deletecollection":              {gate.Requests("deletecollection", "pods"), "DELETE", "/api/v1/namespaces/a/pods", true},
		"subresource":                   {gate.Requests("update", "pods/status"), "PUT", "/api/v1/namespaces/a/pods/b/status", true},
		"another subresource":           {gate.Requests("update", "pods"), "PUT", "/api/v1/namespaces/a/pods/b/status", false},
		"namespace":                     {gate.Requests("get", "namespaces").And(gate.Named("a")), "GET", "/api/v1/namespaces/a", true},
		"namespace status":              {gate.Requests("update", "namespaces/status").And(gate.Named("a")), "PUT", "/api/v1/namespaces/a/status", true},
		"in a namespace":                {gate.In("a"), "GET", "/apis/batch/v1/namespaces/a/jobs", true},
		"in another":                    {gate.In("b"), "GET", "/apis/batch/v1/namespaces/a/jobs", false},
		"field selector":                {gate.Named("b"), "GET", "/api/v1/pods?fieldSelector=metadata.name%3Db", true},
		"either":                        {gate.Named("x").Or(gate.Named("b")), "GET", "/api/v1/nodes/b", true},
		"not":                           {gate.Named("b").Not(), "GET", "/api/v1/nodes/b", false},
		"write":                         {gate.Writes(""), "POST", "/api/v1/namespaces", true},
		"a dry run is not a write":      {gate.Writes(""), "POST", "/api/v1/namespaces?dryRun=All", false},
		"nil matches everything":        {gate.Match(nil).And(gate.Named("b")), "GET", "/api/v1/nodes/b", true},
		"not a resource":                {gate.Requests("", "version"), "GET", "/version", false},
		"discovery, not a resource":     {gate.Requests("", "v1"), "GET", "/apis/batch/v1", false},
		"an access review":              {gate.Requests("create", "subjectaccessreviews"), "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		"a watch with a field selector": {gate.Requests("watch", "nodes").And(gate.Named("b")), "GET", "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Db", true},
		"a longer name":                 {gate.Named("b"), "GET", "/api/v1/nodes/bb", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.match(httptest.NewRequest(test.method, test.path, nil)); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

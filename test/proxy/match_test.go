// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"net/http/httptest"
	"testing"

	"github.com/sunset-k8s/sunset/test/proxy"
)

func TestMatchSelectsRequests(t *testing.T) {
	for name, test := range map[string]struct {
		match        proxy.Match
		method, path string
		want         bool
	}{
		"get":                           {proxy.Requests("get", "configmaps"), "GET", "/api/v1/namespaces/a/configmaps/b", true},
		"list":                          {proxy.Requests("list", "jobs"), "GET", "/apis/batch/v1/jobs", true},
		"a list is not a get":           {proxy.Requests("get", "jobs"), "GET", "/apis/batch/v1/jobs", false},
		"watch":                         {proxy.Requests("watch", ""), "GET", "/apis/batch/v1/jobs?watch=1", true},
		"create":                        {proxy.Requests("create", "pods"), "POST", "/api/v1/namespaces/a/pods", true},
		"patch":                         {proxy.Requests("patch", "pods"), "PATCH", "/api/v1/namespaces/a/pods/b", true},
		"deletecollection":              {proxy.Requests("deletecollection", "pods"), "DELETE", "/api/v1/namespaces/a/pods", true},
		"subresource":                   {proxy.Requests("update", "pods/status"), "PUT", "/api/v1/namespaces/a/pods/b/status", true},
		"another subresource":           {proxy.Requests("update", "pods"), "PUT", "/api/v1/namespaces/a/pods/b/status", false},
		"namespace":                     {proxy.Requests("get", "namespaces").And(proxy.Named("a")), "GET", "/api/v1/namespaces/a", true},
		"namespace status":              {proxy.Requests("update", "namespaces/status").And(proxy.Named("a")), "PUT", "/api/v1/namespaces/a/status", true},
		"in a namespace":                {proxy.In("a"), "GET", "/apis/batch/v1/namespaces/a/jobs", true},
		"in another":                    {proxy.In("b"), "GET", "/apis/batch/v1/namespaces/a/jobs", false},
		"field selector":                {proxy.Named("b"), "GET", "/api/v1/pods?fieldSelector=metadata.name%3Db", true},
		"either":                        {proxy.Named("x").Or(proxy.Named("b")), "GET", "/api/v1/nodes/b", true},
		"not":                           {proxy.Named("b").Not(), "GET", "/api/v1/nodes/b", false},
		"write":                         {proxy.Writes(""), "POST", "/api/v1/namespaces", true},
		"a dry run is not a write":      {proxy.Writes(""), "POST", "/api/v1/namespaces?dryRun=All", false},
		"nil matches everything":        {proxy.Match(nil).And(proxy.Named("b")), "GET", "/api/v1/nodes/b", true},
		"not a resource":                {proxy.Requests("", "version"), "GET", "/version", false},
		"discovery, not a resource":     {proxy.Requests("", "v1"), "GET", "/apis/batch/v1", false},
		"an access review":              {proxy.Requests("create", "subjectaccessreviews"), "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		"a watch with a field selector": {proxy.Requests("watch", "nodes").And(proxy.Named("b")), "GET", "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Db", true},
		"a longer name":                 {proxy.Named("b"), "GET", "/api/v1/nodes/bb", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.match(httptest.NewRequest(test.method, test.path, nil)); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// serve makes a Cluster whose API server answers with the bodies, by URL.
func serve(t *testing.T, bodies map[string]string) *archives.Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.String()]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			body = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":%q,"code":404}`, r.URL)
		case body == "forbidden":
			w.WriteHeader(http.StatusForbidden)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	mapper.Add(jobs, meta.RESTScopeNamespace)
	mapper.Add(pods, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, meta.RESTScopeRoot)
	c, err := archives.NewCluster(&rest.Config{Host: server.URL}, server.Client(), mapper)
	expect.NoError(t, err)
	return c
}

func TestClusterGet(t *testing.T) {
	const job = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"one"},"spec":{"unknown":[1,2.50]}}`
	c := serve(t, map[string]string{"/apis/batch/v1/namespaces/a/jobs/one": job, "/api/v1/nodes/n": "{}", "/apis/batch/v1/namespaces/a/jobs/secret": "forbidden"})
	got, err := c.Get(t.Context(), policy.Target{Kind: jobs, Namespace: "a", Name: "one"})
	expect.NoError(t, err)
	expect.Equal(t, "object", job, string(got))
	_, err = c.Get(t.Context(), policy.Target{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Name: "n"})
	expect.NoError(t, err)
	_, err = c.Get(t.Context(), policy.Target{Kind: jobs, Namespace: "a", Name: "two"})
	expect.Equal(t, "not found", true, apierrors.IsNotFound(err))
	_, err = c.Get(t.Context(), policy.Target{Kind: jobs, Namespace: "a", Name: "secret"})
	expect.Equal(t, "forbidden", true, apierrors.IsForbidden(err))
	if want := "Sunset has no permission to get jobs.batch"; !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
	_, err = c.Get(t.Context(), policy.Target{Kind: schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "X"}, Name: "n"})
	expect.Equal(t, "unknown kind", true, meta.IsNoMatchError(err))
}

func TestClusterList(t *testing.T) {
	c := serve(t, map[string]string{
		"/api/v1/namespaces/a/pods?labelSelector=x+in+%28y%2Cz%29&limit=500":               `{"metadata":{"continue":"more","remainingItemCount":7},"items":[{"metadata":{"name":"one"}},{"a":1}]}`,
		"/api/v1/namespaces/a/pods?continue=more&labelSelector=x+in+%28y%2Cz%29&limit=500": `{"metadata":{},"items":[]}`,
		"/api/v1/pods?fieldSelector=involvedObject.uid%3Dx&limit=500":                      `{"metadata":{},"items":[]}`,
		"/apis/batch/v1/jobs?limit=500":                                                    "forbidden",
	})
	var seen []string
	visit := func(kind schema.GroupVersionKind, data []byte) error {
		seen = append(seen, kind.Kind+" "+string(data))
		return nil
	}
	q := archives.Query{Kind: schema.GroupVersionKind{Kind: "Pod"}, Namespace: "a", Labels: "x in (y,z)"}
	page, err := c.List(t.Context(), q, visit)
	expect.NoError(t, err)
	expect.Equal(t, "page", archives.Page{Continue: "more", Remaining: 7}, page)
	expect.Equal(t, "objects", []string{`Pod {"metadata":{"name":"one"}}`, `Pod {"a":1}`}, seen)
	q.Continue = page.Continue
	page, err = c.List(t.Context(), q, visit)
	expect.NoError(t, err)
	expect.Equal(t, "last page", archives.Page{}, page)
	_, err = c.List(t.Context(), archives.Query{Kind: pods, Fields: "involvedObject.uid=x"}, visit)
	expect.NoError(t, err)
	_, err = c.List(t.Context(), archives.Query{Kind: jobs}, visit)
	expect.Equal(t, "forbidden", true, apierrors.IsForbidden(err))
}

func TestClusterLog(t *testing.T) {
	c := serve(t, map[string]string{"/api/v1/namespaces/a/pods/p/log?container=c&tailLines=100": "hello\n", "/api/v1/namespaces/a/pods/q/log?container=c&tailLines=100": "forbidden"})
	log, err := c.Log(t.Context(), "a", "p", "c", 100)
	expect.NoError(t, err)
	text, err := io.ReadAll(log)
	expect.NoError(t, err)
	expect.Equal(t, "log", "hello\n", string(text))
	_, err = c.Log(t.Context(), "a", "q", "c", 100)
	if want := "Sunset has no permission to get pods/log"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// apiServer responds to the requests of commands. It tests our requests and decoding, not the behavior of an API server.
type apiServer struct {
	*httptest.Server
	pages map[string][]string // by path, or path?fieldSelector; continue tokens are page numbers
	// proxied are the responses of Pods, by path.
	proxied map[string]http.HandlerFunc
	warning string        // sent with each response; empty for none
	ahead   time.Duration // of its clock

	mu      sync.Mutex
	asked   []string // method, path, Accept header and query
	patches []string // path and body
	created []string // path, query and body
	// before is called before the response to a PATCH of a path, and after the response to a GET, once for each function.
	before, after map[string][]func()
}

const discoveryDocuments = `{
 "/api": {"kind":"APIVersions","versions":["v1"]},
 "/apis": {"kind":"APIGroupList","apiVersion":"v1","groups":[
   {"name":"batch","versions":[{"groupVersion":"batch/v1","version":"v1"}],"preferredVersion":{"groupVersion":"batch/v1","version":"v1"}},
   {"name":"events.k8s.io","versions":[{"groupVersion":"events.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"events.k8s.io/v1","version":"v1"}}]},
 "/api/v1": {"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[
   {"name":"namespaces","singularName":"namespace","shortNames":["ns"],"kind":"Namespace","namespaced":false,"verbs":["list","patch"]},
   {"name":"componentstatuses","singularName":"componentstatus","kind":"ComponentStatus","namespaced":false,"verbs":["list"]},
   {"name":"bindings","singularName":"binding","kind":"Binding","namespaced":true,"verbs":["create","patch"]},
   {"name":"events","singularName":"event","kind":"Event","namespaced":true,"verbs":["list","patch"]},
   {"name":"pods","singularName":"pod","shortNames":["po"],"kind":"Pod","namespaced":true,"verbs":["list","patch"]},
   {"name":"pods/status","singularName":"","kind":"Pod","namespaced":true,"verbs":["get","patch"]},
   {"name":"secrets","singularName":"secret","kind":"Secret","namespaced":true,"verbs":["list","patch"]}]},
 "/apis/events.k8s.io/v1": {"kind":"APIResourceList","apiVersion":"v1","groupVersion":"events.k8s.io/v1","resources":[
   {"name":"events","singularName":"event","kind":"Event","namespaced":true,"verbs":["list","patch"]}]},
 "/apis/batch/v1": {"kind":"APIResourceList","apiVersion":"v1","groupVersion":"batch/v1","resources":[
   {"name":"jobs","singularName":"job","kind":"Job","namespaced":true,"verbs":["list","patch"]}]}
}`

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{pages: map[string][]string{}, before: map[string][]func(){}, after: map[string][]func(){}}
	var documents map[string]json.RawMessage
	expect.NoError(t, json.Unmarshal([]byte(discoveryDocuments), &documents))
	for path, document := range documents {
		s.pages[path] = []string{string(document)}
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Accept")+" "+r.URL.RawQuery)
	s.mu.Unlock()
	if pod := s.proxied[r.URL.Path]; pod != nil {
		pod(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", now.Add(s.ahead).Format(http.TimeFormat))
	if s.warning != "" {
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", s.warning))
	}
	switch r.Method {
	case http.MethodPatch:
		s.patch(w, r)
		return
	case http.MethodPost:
		s.create(w, r)
		return
	}
	s.mu.Lock() // a command may send patches at the same time
	defer s.mu.Unlock()
	defer s.runFirst(s.after, r.URL.Path)
	pages, found := s.pages[r.URL.Path+"?"+r.URL.Query().Get("fieldSelector")]
	if !found {
		pages, found = s.pages[r.URL.Path]
	}
	if !found {
		fail(w, http.StatusNotFound, "NotFound")
		return
	}
	page := 0
	_, _ = fmt.Sscanf(r.URL.Query().Get("continue"), "%d", &page)
	var status struct {
		Kind string
		Code int
	}
	if json.Unmarshal([]byte(pages[page]), &status) == nil && status.Kind == "Status" {
		w.WriteHeader(status.Code)
	}
	fmt.Fprint(w, pages[page])
}

func fail(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"not for you: %s"}`, reason, code, reason)
}

// runFirst runs the first function of a path, and drops it.
func (s *apiServer) runFirst(of map[string][]func(), path string) {
	if first := of[path]; len(first) > 0 {
		of[path] = first[1:]
		first[0]()
	}
}

// create stores an object, unless there is one of its name. The name of the user is alice.
func (s *apiServer) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
		fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{"username":"alice"}}}`)
		return
	}
	sent, _ := io.ReadAll(r.Body)
	object := &unstructured.Unstructured{}
	if object.UnmarshalJSON(sent) != nil {
		fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	path := r.URL.Path + "/" + object.GetName()
	switch {
	case s.pages[r.URL.Path] != nil: // a Status
		fail(w, http.StatusForbidden, "Forbidden")
		return
	case s.pages[path] != nil:
		fail(w, http.StatusConflict, "AlreadyExists")
		return
	case r.URL.Query().Get("dryRun") == "":
		s.pages[path] = []string{string(sent)}
	}
	s.created = append(s.created, r.URL.Path+"?"+r.URL.Query().Get("dryRun")+" "+string(sent))
	fmt.Fprint(w, string(sent))
}

// patch merges a patch into the object, unless the patch has another resource version or UID.
func (s *apiServer) patch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.Path
	sent, _ := io.ReadAll(r.Body)
	s.patches = append(s.patches, path+" "+string(sent))
	s.runFirst(s.before, path)
	stored, found := s.pages[path]
	if !found {
		fail(w, http.StatusNotFound, "NotFound")
		return
	}
	object, patch := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if json.Unmarshal([]byte(stored[0]), &object.Object) != nil || json.Unmarshal(sent, &patch.Object) != nil {
		fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if object.GetKind() == "Status" {
		fail(w, http.StatusForbidden, "Forbidden")
		return
	}
	version, uid := patch.GetResourceVersion(), patch.GetUID()
	if version != "" && version != object.GetResourceVersion() || uid != "" && uid != object.GetUID() {
		fail(w, http.StatusConflict, "Conflict")
		return
	}
	merged, err := jsonpatch.MergePatch([]byte(stored[0]), sent)
	if err != nil || json.Unmarshal(merged, &object.Object) != nil {
		fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	object.SetResourceVersion(object.GetResourceVersion() + "1")
	data, _ := json.Marshal(object.Object)
	s.pages[path] = []string{string(data)}
	fmt.Fprint(w, string(data))
}

// store sets the one object of a path.
func (s *apiServer) store(path, object string) { s.pages[path] = []string{object} }

// object returns a stored object.
func (s *apiServer) object(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	expect.NoError(t, json.Unmarshal([]byte(s.pages[path][0]), &object.Object))
	return object
}

// annotations returns the annotations of a stored object.
func (s *apiServer) annotations(t *testing.T, path string) map[string]string {
	t.Helper()
	return s.object(t, path).GetAnnotations()
}

// list sets the pages of objects of a path.
func (s *apiServer) list(path, apiVersion, kind string, pages ...[]string) {
	s.pages[path] = nil
	for i, objects := range pages {
		next := ""
		if i+1 < len(pages) {
			next = fmt.Sprint(i + 1)
		}
		s.pages[path] = append(s.pages[path], fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`,
			kind+"List", apiVersion, next, strings.Join(objects, ",")))
	}
}

const (
	jobsPath       = "/apis/batch/v1/jobs"
	podsPath       = "/api/v1/pods"
	secretsPath    = "/api/v1/secrets"
	namespacesPath = "/api/v1/namespaces"
	policiesPath   = "/apis/sunset-k8s.io/v1alpha1/clusterretentionpolicies"
)

func object(name, namespace, rest string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":"5","creationTimestamp":"2026-02-28T12:00:00Z"}%s}`, name, namespace, name, rest)
}

func livePolicy(name, mode, kind, ttl string) string {
	apiVersion, eligible := "v1", "true"
	if kind == "Job" {
		apiVersion, eligible = "batch/v1", "!finished(object)" // reads more than metadata
	}
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":%q},"spec":{"mode":%q,
		"namespaceSelector":{"matchLabels":{"env":"dev"}},
		"rules":[{"name":"r","target":{"apiVersion":%q,"kind":%q},"eligible":%q,"startTime":"object.metadata.creationTimestamp","ttl":%q}]}}`,
		name, mode, apiVersion, kind, eligible, ttl)
}

func newLive(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.list(namespacesPath, "v1", "Namespace",
		[]string{`{"metadata":{"name":"dev","labels":{"env":"dev"}}}`, `{"metadata":{"name":"prod"}}`})
	s.list(jobsPath, "batch/v1", "Job",
		[]string{object("a", "dev", ""), object("b", "prod", "")}, []string{object("c", "dev", "")})
	s.list(secretsPath, "v1", "Secret", []string{object("s", "dev", "")})
	return s
}

func (s *apiServer) preview(t *testing.T, stdin string, args ...string) ran {
	return s.run(t, stdin, "preview", args...)
}

func (s *apiServer) run(t *testing.T, stdin, command string, args ...string) ran {
	return run(t, stdin, s.args(t, append([]string{command}, args...)...)...)
}

// args returns the arguments of a command, with those for the connection to the server.
func (s *apiServer) args(t *testing.T, args ...string) []string {
	t.Helper()
	t.Setenv("KUBECACHEDIR", t.TempDir())
	kubeconfig := write(t, t.TempDir(), "config", "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {namespace: dev}}]}")
	return append([]string{args[0], "--kubeconfig", kubeconfig, "--server", s.URL}, args[1:]...)
}

func TestPreviewReadsTheClusterPageByPage(t *testing.T) {
	s := newLive(t)
	got := s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-")
	wants(t, got, command.ExitOK, "dev         Job    a      Delete   Expired", "dev         Job    c      Delete   Expired")
	if strings.Contains(got.out, "prod") {
		t.Errorf("objects of a namespace without the label:\n%s", got.out)
	}
	for _, asked := range s.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("a preview sent %s", asked)
		}
	}
}

func TestPreviewTogetherWithTheClustersPolicies(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("jobs", "Enforce", "Job", "1h"), livePolicy("longer", "Enforce", "Job", "3d"), livePolicy("dry", "DryRun", "Job", "9d"))
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "2d"), "-f", "-"), command.ExitOK, "in 2d (2026-03-03T12:00:00Z)   longer/r")
	wants(t, s.preview(t, livePolicy("longer", "DryRun", "Job", "2d"), "-f", "-"), command.ExitOK, "in 24h (2026-03-02T12:00:00Z)   longer/r")
	s.list("/apis/batch/v1/namespaces/dev/jobs", "batch/v1", "Job", []string{object("d", "dev", "")})
	wants(t, s.preview(t, "", "-n", "dev"), command.ExitOK, "dev         Job    d      Wait     Waiting   in 2d (2026-03-03T12:00:00Z)   longer/r")
}

func TestPreviewListsOnlyTheKindsItIsAskedAbout(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("jobs", "Enforce", "Job", "1h"))
	got := s.preview(t, livePolicy("secrets", "DryRun", "Secret", "1d"), "-f", "-")
	wants(t, got, command.ExitOK, "secrets/r")
	if strings.Contains(got.out, "jobs/r") {
		t.Errorf("Jobs in the output:\n%s", got.out)
	}
}

func TestPreviewShowsWhatTheClustersDryRunsWouldDo(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("dry", "DryRun", "Job", "1h"))
	wants(t, s.preview(t, ""), command.ExitOK, "Keep     DryRun   23h ago (2026-02-28T13:00:00Z)   dry/r")
}

func TestPreviewAsksForMetadataWhereThatIsEnough(t *testing.T) {
	s := newLive(t)
	wants(t, s.preview(t, livePolicy("secrets", "DryRun", "Secret", "1d"), "-f", "-"), command.ExitOK, "dev         Secret   s      Delete")
	for _, asked := range s.asked {
		if strings.HasPrefix(asked, "GET "+secretsPath) && !strings.Contains(asked, "PartialObjectMetadata") {
			t.Errorf("a request for the data of Secrets: %s", asked)
		}
	}
}

func TestPreviewGoesOnWhenAListingExpires(t *testing.T) {
	s := newLive(t)
	expired := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"metadata":{"continue":"2"}}`
	s.pages[jobsPath] = []string{s.pages[jobsPath][0], expired, s.pages[jobsPath][1]}
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-"), command.ExitOK, "Job    a", "Job    c")
	s.pages[jobsPath][1] = strings.Replace(expired, `"continue":"2"`, "", 1)
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-"), command.ExitFindings, "jobs/r: cannot list Job of batch/v1")
}

func TestPreviewGoesOnWhereAKindCannotBeListed(t *testing.T) {
	s := newLive(t)
	s.pages[podsPath] = []string{`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`}
	policies := livePolicy("jobs", "DryRun", "Job", "1d") + livePolicy("pods", "DryRun", "Pod", "1d") + livePolicy("builds", "DryRun", "Build", "1d")
	wants(t, s.preview(t, policies, "-f", "-"), command.ExitFindings,
		"Job    a      Delete", "2 errors:", "pods/r: cannot list Pod of v1: pods is forbidden", "builds/r: cannot list Build of v1: no matches for kind")
}

func TestPreviewNeedsAPolicyAndACluster(t *testing.T) {
	s := newLive(t)
	wants(t, s.preview(t, ""), command.ExitError, "the cluster has no policy")
	s.Close()
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-"), command.ExitError, "error: list the cluster's policies")
}

// TestPreviewIsSilentAboutPoliciesOfOtherKinds: a preview of a file does not report problems of the cluster's policies for
// other kinds.
func TestPreviewIsSilentAboutPoliciesOfOtherKinds(t *testing.T) {
	s := newLive(t)
	wrong := strings.Replace(livePolicy("wrong", "Enforce", "Secret", "1h"), `"true"`, `"tru"`, 1)
	s.inForce(wrong)
	got := s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-")
	wants(t, got, command.ExitOK, "dev         Job    a      Delete")
	if strings.Contains(got.err, "wrong") {
		t.Errorf("a policy for Secrets in the output:\n%s", got.err)
	}
	wants(t, s.preview(t, livePolicy("secrets", "DryRun", "Secret", "1d"), "-f", "-"), command.ExitFindings, "tru")
	wants(t, s.preview(t, ""), command.ExitFindings, "tru")
}

func TestKubeconfigNotFoundIsReported(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/config")
	t.Setenv("KUBERNETES_MASTER", "")
	for _, name := range []string{"preview", "status"} {
		got := run(t, "", name)
		wants(t, got, command.ExitError, "Via the command-line flag --kubeconfig")
		if strings.Contains(got.err, "KUBERNETES_MASTER") {
			t.Error(got.err)
		}
	}
}

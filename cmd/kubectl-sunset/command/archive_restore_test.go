// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestArchiveRestore(t *testing.T) {
	s := newArchiveServer(t, newArchived(t))
	const job = "/apis/batch/v1/namespaces/dev/jobs/report"
	wants(t, s.run(t, "", "archive", "restore", "job/report"), command.ExitOK, "Job.batch/dev/report would be restored\n", "  spec.suspend is true",
		"dependents only in the record: 1", "1 object would be restored (dry run)")
	for _, path := range s.created {
		if !strings.HasPrefix(path, "/apis/batch/v1/namespaces/dev/jobs?All ") {
			t.Errorf("a dry run created %s", path)
		}
	}
	wants(t, s.run(t, "", "archive", "restore", "job/report", "--diff"), command.ExitOK, "--- archived/Job/report\n+++ restored/Job/report\n", "-  uid: u1\n", "+    sunset-k8s.io/hold: ", "+    sunset-k8s.io/restored-from: history/segments/", "+  suspend: true\n")

	wants(t, s.run(t, "", "archive", "restore", "job/report", "--yes"), command.ExitOK, "Job.batch/dev/report restored\n", "1 object restored. Each has a hold")
	restored := s.object(t, job)
	suspended, _, _ := unstructured.NestedBool(restored.Object, "spec", "suspend")
	if !suspended || restored.GetUID() != "" || restored.GetAnnotations()["sunset-k8s.io/restored-uid"] != "u1" {
		t.Errorf("restored: %v", restored.Object)
	}
	s.proxied = map[string]http.HandlerFunc{"/api/v1/namespaces/prod/secrets": func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "NotFound") }}
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings, "Job.batch/dev/report not restored: an object of this name exists",
		"Job.batch/dev/mail restored", "Secret/prod/token not restored: the server could not find",
		`Widget.example.com/w not restored: no matches for kind "Widget" in version "example.com/v1"; ensure that its CustomResourceDefinition is installed`,
		"1 object restored, 3 not")
	wants(t, s.run(t, "", "archive", "restore", "pod/report-x"), command.ExitFindings, "a Pod would run again")
	wants(t, s.run(t, "", "archive", "restore", "job/none"), command.ExitFindings, "No record found in archive history: job/none.\n")
	delete(s.pages, job)
	wants(t, s.run(t, "", "archive", "restore", "job/report", "job/none"), command.ExitFindings, "No record found in archive history: job/none.\n", "1 object would be restored")
	wants(t, s.run(t, "", "archive", "restore", "job/report", "pod/report-x"), command.ExitOK, "\n1 object would be restored (dry run)")
}

// TestArchiveRestoreNamespace: a dry run of a namespace also shows its objects, although the API server cannot check them yet. An object
// whose owner cannot be created is not created.
func TestArchiveRestoreNamespace(t *testing.T) {
	url := newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"new","uid":"u1","resourceVersion":"5"}}`},
		{object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"owner","namespace":"new","uid":"u2","resourceVersion":"5"}}`},
		{object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"owned","namespace":"new","uid":"u3","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"owner","uid":"u2"}]}}`},
	})
	s := newArchiveServer(t, url)
	missing := func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "NotFound") }
	s.proxied = map[string]http.HandlerFunc{"/api/v1/namespaces/new/secrets": missing}
	wants(t, s.run(t, "", "archive", "restore", "-n", "new"), command.ExitOK, "Namespace/new would be", "Secret/new/owner would be", "Secret/new/owned would be")
	wants(t, s.run(t, "", "archive", "restore", "-n", "new", "--yes"), command.ExitFindings, "Namespace/new restored",
		"Secret/new/owner not restored: the server could not find", "Secret/new/owned not restored: its owner Secret owner was not created")
}

// TestArchiveRestoreRepeated: after a failure, the same command restores the rest, with references to what it restored before. It does
// not use an object that another client created as an owner.
func TestArchiveRestoreRepeated(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"owner","namespace":"dev","uid":"u2","resourceVersion":"5"},"spec":{}}`},
		{object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"owned","namespace":"dev","uid":"u3","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"owner","uid":"u2"}]}}`},
	}))
	const owner = "/apis/batch/v1/namespaces/dev/jobs/owner"
	s.proxied = map[string]http.HandlerFunc{"/api/v1/namespaces/dev/secrets": func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") }}
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings, "Job.batch/dev/owner restored\n", "Secret/dev/owned not restored: ", "1 object restored, 1 not")
	created := s.object(t, owner)
	s.proxied = map[string]http.HandlerFunc{"/apis/batch/v1/namespaces/dev/jobs": func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") }}
	refused := created.DeepCopy()
	refused.SetUID("u-new")
	text, err := refused.MarshalJSON()
	expect.NoError(t, err)
	s.store(owner, string(text))
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitOK, "Job.batch/dev/owner was restored before\n") // a quota is full, for example
	s.proxied = nil
	for change, isSame := range map[string]bool{
		"": true, "sunset-k8s.io/restored-uid": false, "sunset-k8s.io/restored-from": false, "deletionTimestamp": false,
	} {
		live := created.DeepCopy()
		live.SetUID("u-new")
		if annotations := live.GetAnnotations(); annotations[change] != "" {
			annotations[change] += "x"
			live.SetAnnotations(annotations)
		}
		if change == "deletionTimestamp" {
			live.Object["metadata"].(map[string]any)[change] = "2026-03-01T00:00:00Z"
		}
		text, err := live.MarshalJSON()
		expect.NoError(t, err)
		s.store(owner, string(text))
		got := s.run(t, "", "archive", "restore", "-A")
		if !isSame {
			wants(t, got, command.ExitFindings, "Job.batch/dev/owner not restored: an object of this name exists", "Secret/dev/owned not restored: its owner Job owner was not created")
			continue
		}
		wants(t, got, command.ExitOK, "Job.batch/dev/owner was restored before\n", "Secret/dev/owned would be restored\n", "1 object would be restored, 1 before (dry run)")
		wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitOK, "Secret/dev/owned restored\n", "1 object restored, 1 before")
		const owned = "/api/v1/namespaces/dev/secrets/owned"
		expect.Equal(t, "UID of the owner", "u-new", s.object(t, owned).GetOwnerReferences()[0].UID)
		delete(s.pages, owned)
	}
}

// TestArchiveRestoreForeign: a record cannot bring objects along that its object did not own, and no dependent of another namespace than -n.
func TestArchiveRestoreForeign(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"report","namespace":"dev","uid":"u2","resourceVersion":"5"},"spec":{}}`,
			dependent: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"evil","namespace":"prod","uid":"u3","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"report","uid":"u2"}]}}`},
	}))
	for _, object := range []string{"job/report", "secret/evil"} {
		wants(t, s.run(t, "", "archive", "restore", object, "-n", "dev", "--yes"), command.ExitFindings,
			"Secret/prod/evil not restored: it is in the record of Job.batch/dev/report, which did not own it")
	}
	for _, path := range s.created {
		if strings.Contains(path, "evil") {
			t.Errorf("created %s", path)
		}
	}
}

// TestArchiveRestorePlain: the command warns about records that are not encrypted if the user decrypts the archive.
func TestArchiveRestorePlain(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	file := write(t, t.TempDir(), "key.txt", key.String()+"\n")
	const warning = "note: records that are not encrypted: 1 of 1"
	wants(t, newArchiveServer(t, newArchived(t)).run(t, "", "archive", "restore", "job/report", "--identity", file), command.ExitOK, warning)
	got := newArchiveServer(t, newArchived(t, key.Recipient())).run(t, "", "archive", "restore", "job/report", "--identity", file)
	wants(t, got, command.ExitOK, "would be restored")
	expect.Equal(t, "notes", "", got.err)
}

// TestArchiveRestoreNewest: of one name, a selection restores the newest object. It restores no older one if that is left out.
func TestArchiveRestoreNewest(t *testing.T) {
	restored := func(args string, results ...archive.Result) ran {
		var objects []archivedObject
		for i, result := range results {
			objects = append(objects, archivedObject{result: result, policy: "batch", object: fmt.Sprintf(
				`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"report","namespace":"dev","uid":"u%d","resourceVersion":"5"},"spec":{}}`, i)})
		}
		return newArchiveServer(t, newArchivedOf(t, objects)).run(t, "", "archive", append([]string{"restore", "-n", "dev"}, strings.Fields(args)...)...)
	}
	wants(t, restored("", archive.Deleted, archive.Deleted), command.ExitOK, "Job.batch/dev/report would be restored",
		"Job.batch/dev/report not restored: the selection has a newer record of an object of this name", "1 object would be restored, 1 not")
	const leftOut = "left out, since it is not known that Sunset deleted the object, or the one that had its name later"
	for want, result := range map[string]archive.Result{"2 records " + leftOut + " (1 deleted, 1 unknown)": archive.Unknown, "1 record " + leftOut + " (1 deleted)": archive.Kept} {
		got := restored("", archive.Deleted, result)
		wants(t, got, command.ExitFindings, want)
		if strings.Contains(got.out, "would be restored") {
			t.Error(got.out)
		}
	}
	wants(t, restored("job/report", archive.Deleted, archive.Kept), command.ExitOK, "\n1 object would be restored")
	wants(t, restored("--kept", archive.Deleted, archive.Kept), command.ExitOK, "1 object would be restored, 1 not")
	wants(t, restored("", archive.Kept), command.ExitFindings, "No record found in archive history.\n1 record found of versions that Sunset did not delete; to restore them, use --kept.\n")
	wants(t, restored("job/report job/none", archive.Kept), command.ExitFindings, ": job/report, job/none.\n1 record found of versions")
}

// TestArchiveRestoreResults: a selection restores only what Sunset deleted; the user can name the other objects.
func TestArchiveRestoreResults(t *testing.T) {
	var objects []archivedObject
	for i, result := range []archive.Result{archive.Deleted, archive.Gone, archive.Absent, none, archive.Unknown} {
		objects = append(objects, archivedObject{result: result, policy: "batch", object: fmt.Sprintf(
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"dev","uid":"u%d","resourceVersion":"5"},"spec":{}}`, result, i)})
	}
	s := newArchiveServer(t, newArchivedOf(t, objects))
	const note = "3 records left out, since it is not known that Sunset deleted the object, or the one that had its name later (1 absent, 1 none, 1 unknown). To list: kubectl sunset archive ls; to restore one, name it"
	for args, want := range map[string]string{
		"-A --policy batch --since 3d": "deleted gone", "jobs": "deleted gone", "-n dev": "deleted gone", `--cel record.name!="gone"`: "deleted",
		"job absent none": "absent none", "job/unknown jobs/gone": "gone unknown", "--uid u2": "absent",
	} {
		got := s.run(t, "", "archive", append([]string{"restore"}, strings.Fields(args)...)...)
		var names []string
		for line := range strings.Lines(got.out) {
			if name, ok := strings.CutSuffix(line, " would be restored\n"); ok && strings.Contains(name, "/") {
				names = append(names, strings.TrimPrefix(name, "Job.batch/dev/"))
			}
		}
		expect.Equal(t, args, want, strings.Join(names, " "))
		expect.Equal(t, "note of "+args, strings.HasPrefix(want, "deleted"), strings.Contains(got.out, note))
		expect.Equal(t, "exit code of "+args, command.ExitOK, got.code)
	}
	wants(t, s.run(t, "", "archive", "ls", "-A", "-o", "name", "--cel", `record.result == "none"`), command.ExitOK, "job.batch/none")
	wants(t, s.run(t, "", "archive", "restore", "-A", "--cel", `record.result == "absent"`), command.ExitFindings, "1 record left out")
}

// createWidget creates a Widget without its status, and with these fields of its metadata.
func (s *apiServer) createWidget(metadata string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		created := strings.NewReplacer(`,"status":{"ready":1}`, "", `"metadata":{`, `"metadata":{`+metadata+",").Replace(string(sent))
		r.Body = io.NopCloser(strings.NewReader(created))
		w.Header().Set("Content-Type", "application/json")
		s.create(w, r)
	}
}

// TestArchiveRestoreStatus: the exit code is 1 if the status of an object was not written, and the same command writes it later.
func TestArchiveRestoreStatus(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"u1","resourceVersion":"5"},"status":{"ready":1}}`},
	}))
	s.serve("example.com", "widgets", "Widget")
	const widgets, widget = "/apis/example.com/v1/widgets", "/apis/example.com/v1/widgets/w"
	s.proxied = map[string]http.HandlerFunc{
		widget + "/status": func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") },
		widgets:            s.createWidget(`"uid":"u-new"`),
	}
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitOK, "Widget.example.com/w would be restored")
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings, "Widget.example.com/w restored\n", "  its status was not written: ")
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings, "Widget.example.com/w was restored before\n", "  its status was not written: ")
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitOK, "  its status would be written\n")
	var patched string
	s.proxied[widget+"/status"] = func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		patched = string(sent)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, s.pages[widget][0])
	}
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitOK, "0 objects restored, 1 before")
	expect.Equal(t, "status", `{"metadata":{"uid":"u-new"},"status":{"ready":1}}`, patched)
	live := s.object(t, widget)
	live.Object["status"] = map[string]any{"ready": int64(0)}
	text, err := live.MarshalJSON()
	expect.NoError(t, err)
	s.store(widget, string(text))
	patched = ""
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitOK, "  its status is not that of the record: ")
	expect.Equal(t, "status that was written", "", patched)
}

// TestArchiveRestoreKeepsTheStatusOfAController that has written it since the object was created.
func TestArchiveRestoreKeepsTheStatusOfAController(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"u1","resourceVersion":"5"},"status":{"ready":1}}`},
	}))
	s.serve("example.com", "widgets", "Widget")
	const widgets, widget = "/apis/example.com/v1/widgets", "/apis/example.com/v1/widgets/w"
	s.proxied = map[string]http.HandlerFunc{
		widget + "/status": func(w http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			expect.Equal(t, "sent", `{"metadata":{"resourceVersion":"7","uid":"u-new"},"status":{"ready":1}}`, string(sent))
			live := s.object(t, widget)
			live.Object["status"] = map[string]any{"ready": int64(0)}
			text, err := live.MarshalJSON()
			expect.NoError(t, err)
			s.store(widget, string(text))
			fail(w, http.StatusConflict, "Conflict")
		},
		widgets: s.createWidget(`"uid":"u-new","resourceVersion":"7"`),
	}
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitOK, "Widget.example.com/w restored\n", "  its status is not that of the record: ")
}

// TestArchiveRestoreDefinition: a CustomResourceDefinition is restored together with objects of its kind. A dry run shows both, although the
// API server cannot check the objects yet.
func TestArchiveRestoreDefinition(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"u1","resourceVersion":"5"}}`},
		{object: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com","uid":"u2","resourceVersion":"5"},
			"spec":{"group":"example.com","names":{"kind":"Widget"},"versions":[{"name":"v1","subresources":{}}]}}`},
		{object: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","uid":"u3","resourceVersion":"5"}}`},
	}))
	s.serve("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition")
	s.proxied = map[string]http.HandlerFunc{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("dryRun") == "" {
			s.serve("example.com", "widgets", "Widget")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}}
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitFindings,
		"CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com would be restored\n", "Widget.example.com/w would be restored\n",
		`Gadget.example.com/g not restored: no matches for kind "Gadget"`)
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings,
		"CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com restored\n", "Widget.example.com/w restored\n", "2 objects restored, 1 not")
}

// serve adds a group with one cluster-scoped kind to the discovery documents.
func (s *apiServer) serve(group, resource, kind string) {
	s.pages["/apis"] = []string{strings.Replace(s.pages["/apis"][0], `"groups":[`, fmt.Sprintf(
		`"groups":[{"name":%[1]q,"versions":[{"groupVersion":"%[1]s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%[1]s/v1","version":"v1"}},`, group), 1)}
	s.store("/apis/"+group+"/v1", fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[
		{"name":%q,"kind":%q,"namespaced":false,"verbs":["create","list","patch"]}]}`, group, resource, kind))
}

// TestArchiveRestoreOwner: a reference to an owner that the user may not get is removed. If it cannot be found out for another reason
// whether an owner exists, nothing is restored.
func TestArchiveRestoreOwner(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"owned","namespace":"dev","uid":"u3","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"owner","uid":"u2"}]}}`},
	}))
	const owner = "/apis/batch/v1/namespaces/dev/jobs/owner"
	s.store(owner, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`)
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitError, "find out whether Job.batch/dev/owner exists")
	expect.Equal(t, "created", 0, len(s.created))
	s.store(owner, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitOK, "owner reference removed: Job owner with UID u2 does not exist, is being deleted, or you have no permission to get it")
	s.store(owner, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"owner","namespace":"dev","uid":"u2","deletionTimestamp":"2026-03-01T00:00:00Z"}}`)
	wants(t, s.run(t, "", "archive", "restore", "-A"), command.ExitOK, "owner reference removed: Job owner with UID u2")
	s.store(owner, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"owner","namespace":"dev","uid":"u2"}}`)
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitOK, "Secret/dev/owned restored")
	expect.Equal(t, "owners", 1, len(s.object(t, "/api/v1/namespaces/dev/secrets/owned").GetOwnerReferences()))
}

// TestArchiveOtherVersion: objects are found in the version that the cluster serves, also if it does not serve that of the record.
func TestArchiveOtherVersion(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"w","uid":"u1","resourceVersion":"5"}}`},
		{object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"owned","namespace":"dev","uid":"u2","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"example.com/v1beta1","kind":"Widget","name":"live","uid":"u3"}]}}`},
	}))
	s.serve("example.com", "widgets", "Widget")
	const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q,"uid":%q}}`
	s.store("/apis/example.com/v1/widgets/live", fmt.Sprintf(widget, "live", "u3"))
	s.store("/apis/example.com/v1/widgets/w", fmt.Sprintf(widget, "w", "u1"))
	wants(t, s.run(t, "", "archive", "diff", "widgets"), command.ExitFindings, "-apiVersion: example.com/v1beta1\n+apiVersion: example.com/v1\n")
	delete(s.pages, "/apis/example.com/v1/widgets/w")
	got := s.run(t, "", "archive", "restore", "-A")
	wants(t, got, command.ExitFindings, "Secret/dev/owned would be restored\n",
		`Widget.example.com/w not restored: no matches for kind "Widget" in version "example.com/v1beta1"; the cluster serves example.com/v1: change the manifest`)
	if strings.Contains(got.out, "owner reference removed") {
		t.Error(got.out)
	}
}

// TestArchiveRestoreURL: the command restores only what the user selects, of the archive of the cluster and of one at a URL.
func TestArchiveRestoreURL(t *testing.T) {
	url := newArchived(t)
	s := newArchiveServer(t, url)
	for _, args := range [][]string{{}, {"--kept"}, {"--policy", ""}} {
		for _, source := range [][]string{{"restore", "--yes"}, {"restore", "--yes", "--url", url}} {
			wants(t, s.run(t, "", "archive", slices.Concat(source, args)...), command.ExitError, "choose what to restore: ", "-A the whole archive")
		}
	}
	for _, args := range []string{"job/mail", "-A -l team=x", "-n prod", "-l team=a", "--policy batch", "--uid u2", "--cel record.uid=='u2'", "--since 3d", "--until 1d"} {
		if got := s.run(t, "", "archive", append([]string{"restore", "--url", url}, strings.Fields(args)...)...); got.code == command.ExitError {
			t.Errorf("%s: %s", args, got.err)
		}
	}
	expect.Equal(t, "created", "", strings.Join(slices.DeleteFunc(s.created, func(path string) bool { return strings.Contains(path, "?All ") }), ", "))
}

// TestEscapedNames: names with control characters, as the API server permits for ClusterRoles, do not control the terminal.
func TestEscapedNames(t *testing.T) {
	url := newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a\u001b[2K","uid":"u1","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b\u001b[2K","uid":"u2"}]}}`},
	})
	s := newArchiveServer(t, url)
	role := "clusterrole/a\x1b[2K"
	for _, got := range []ran{
		s.run(t, "", "archive", "ls", "-A"),
		s.run(t, "", "archive", "diff", role),
		s.run(t, "", "archive", "restore", role),
		s.run(t, "", "who", role, "--url", url),
		s.run(t, "", "validate", "-f", "a\x1b[2K"),
	} {
		if all := got.out + got.err; strings.Contains(all, "\x1b") || !strings.Contains(all, "a^[[2K") {
			t.Errorf("%q", all)
		}
	}
}

// TestNamesWithLineBreaks: a name cannot begin a line of the plan or of a table.
func TestNamesWithLineBreaks(t *testing.T) {
	const line = `\nSecret token restored`
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a` + line + `","namespace":"dev","uid":"u1","resourceVersion":"5",
			"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b` + line + `","uid":"u2"}]},"spec":{}}`},
	}))
	for _, args := range []string{"archive ls -A", "archive diff jobs", "archive restore -A", "archive restore -A --yes", "archive restore -A --yes"} {
		command, rest, _ := strings.Cut(args, " ")
		got := s.run(t, "", command, strings.Fields(rest)...)
		if !strings.Contains(got.out, `a\nSecret token`) || strings.Contains(got.out, "\nSecret token") {
			t.Errorf("%s: %s", args, got.out)
		}
	}
}

// TestArchiveRestoreInterrupted: a user who interrupts the command learns what it has created, and what it has not.
func TestArchiveRestoreInterrupted(t *testing.T) {
	s := newArchiveServer(t, newArchived(t))
	self, err := os.FindProcess(os.Getpid())
	expect.NoError(t, err)
	s.proxied = map[string]http.HandlerFunc{"/apis/batch/v1/namespaces/dev/jobs": func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		if strings.Contains(string(sent), `"name":"report"`) {
			expect.NoError(t, self.Signal(os.Interrupt))
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		w.Header().Set("Content-Type", "application/json")
		s.create(w, r)
	}}
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitInterrupted, "Job.batch/dev/mail restored\n",
		"Job.batch/dev/report not restored: the command was interrupted before\n", "Secret/prod/token not restored: the command was interrupted before\n", "1 object restored, 3 not")
}

// TestArchiveRestoreUnconfirmed: an object is not created if the API server would drop the field that keeps it from running, or would
// put it into a queue of Kueue.
func TestArchiveRestoreUnconfirmed(t *testing.T) {
	s := newArchiveServer(t, newArchived(t))
	var created []string
	change := strings.NewReplacer(`"suspend":true`, `"other":1`)
	s.proxied = map[string]http.HandlerFunc{"/apis/batch/v1/namespaces/dev/jobs": func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		created = append(created, r.URL.Query().Get("dryRun")+" "+r.URL.Query().Get("fieldValidation"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, change.Replace(string(sent)))
	}}
	wants(t, s.run(t, "", "archive", "restore", "job/report", "--yes"), command.ExitFindings, "not restored: the API server would not keep spec.suspend: true")
	for _, field := range []string{"labels", "annotations"} {
		change = strings.NewReplacer(`"`+field+`":{`, `"`+field+`":{"kueue.x-k8s.io/queue-name":"default",`)
		wants(t, s.run(t, "", "archive", "restore", "job/report", "--yes"), command.ExitFindings,
			"not restored: the API server would set kueue.x-k8s.io/queue-name: default, so that Kueue could run the object again; delete LocalQueue default")
	}
	expect.Equal(t, "requests", []string{"All Strict", "All Strict", "All Strict"}, created)
}

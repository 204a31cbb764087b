// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// archivedAt is when the records of the tests were archived.
var archivedAt = now.Add(-50 * time.Hour)

type archivedObject struct {
	object, policy, outcome, dependent, log string
	result                                  archive.Result // empty: deleted
}

// archived are the objects of the archive of the tests.
var archived = []archivedObject{
	{`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"report","namespace":"dev","uid":"u1","resourceVersion":"5","labels":{"team":"a"},
		"creationTimestamp":"2026-02-20T00:00:00Z"},"spec":{"parallelism":2,"selector":{"matchLabels":{"controller-uid":"u1"}}},"status":{"failed":1}}`,
		"batch", "Failed", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"report-x","namespace":"dev"},"spec":{"nodeName":"n1"}}`, "one\ntwo\n", archive.Deleted},
	{`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"mail","namespace":"dev","uid":"u2","resourceVersion":"5"},"spec":{}}`, "batch", "Succeeded", "", "", archive.Gone},
	{`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token","namespace":"prod","uid":"u3","resourceVersion":"5"},"type":"Opaque"}`, "unused", "", "", "", archive.Deleted},
	{`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"u4","resourceVersion":"5"}}`, "widgets", "", "", "", archive.Deleted},
	{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept","namespace":"dev","uid":"u5","resourceVersion":"5"}}`, "maps", "", "", "", archive.Kept},
}

// none stands for no result.
const none archive.Result = "none"

// newArchived writes an archive into a directory, and returns its URL.
func newArchived(t *testing.T, recipients ...age.Recipient) string {
	t.Helper()
	return newArchivedOf(t, archived, recipients...)
}

func newArchivedOf(t *testing.T, objects []archivedObject, recipients ...age.Recipient) string {
	t.Helper()
	url := "file://" + t.TempDir()
	to, err := store.Open(t.Context(), url, nil)
	expect.NoError(t, err)
	b, index := archive.NewBuilder(recipients...), archive.NewIndexer(to, recipients...)
	for i, a := range objects {
		object := &unstructured.Unstructured{}
		expect.NoError(t, object.UnmarshalJSON([]byte(a.object)))
		r := archive.Record{
			ArchivedAt: archivedAt.Add(time.Duration(i) * time.Second), Cluster: "test", Policy: a.policy, Rule: "r", Due: archivedAt, Reason: "Expired",
			Outcome: a.outcome, Object: json.RawMessage(a.object),
		}
		if a.dependent != "" {
			r.Dependents = []json.RawMessage{json.RawMessage(a.dependent)}
			r.Logs = []archive.Log{{Pod: "report-x", Container: "main", Text: a.log}, {Pod: "report-x", Container: "proxy", Missing: "forbidden"}}
		}
		_, err := b.Add(audit.Object{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
			UID: object.GetUID(), ResourceVersion: "5"}, r)
		expect.NoError(t, err)
	}
	segment, err := b.Seal(archivedAt.Add(time.Minute))
	expect.NoError(t, err)
	expect.NoError(t, to.Write(t.Context(), segment.Name, segment.Data))
	index.Add(segment)
	for i, a := range objects {
		if a.result != none {
			index.Finish(segment.Name, i, cmp.Or(a.result, archive.Deleted), archivedAt.Add(time.Minute))
		}
	}
	expect.NoError(t, index.Flush(t.Context(), archivedAt.Add(time.Minute)))
	expect.NoError(t, to.Close())
	return url
}

func TestArchiveLs(t *testing.T) {
	url := newArchived(t)
	got := run(t, "", "archive", "ls", "--url", url, "-A")
	got.out = strings.ReplaceAll(got.out, url, "URL")
	golden(t, "archive-ls", got)
	const all = "widget.example.com/w secret/token job.batch/mail job.batch/report"
	for args, want := range map[string]string{
		"":                             all,
		"-n dev":                       "job.batch/mail job.batch/report",
		"jobs":                         "job.batch/mail job.batch/report",
		"job,secret":                   "secret/token job.batch/mail job.batch/report",
		"job report mail":              "job.batch/mail job.batch/report",
		"job/report secret/token":      "secret/token job.batch/report",
		"job.batch/report":             "job.batch/report",
		"widgets -n dev":               "widget.example.com/w",
		"po":                           "pod/report-x",
		"jobs,po":                      "job.batch/mail job.batch/report pod/report-x",
		"pod/report-x":                 "pod/report-x",
		"-l team=a":                    "job.batch/report",
		"--policy batch":               "job.batch/mail job.batch/report",
		"--uid u2":                     "job.batch/mail",
		"--kept":                       "configmap/kept " + all,
		"--since 49h":                  "",
		"--since 3d --until 49h":       all,
		"--until 3d":                   "",
		"--since 2026-02-27T10:01:01Z": "",
		`--cel record.outcome=="Failed"&&record.labels.?team.orValue("")=="a"`: "job.batch/report",
		`--cel record.outcome=="Failed"`:                                       "job.batch/report",
		`--cel record.uid=="u3"||record.result=="gone"`:                        "secret/token job.batch/mail",
		`--cel object.?spec.parallelism.orValue(1)>1`:                          "job.batch/report",
		`--cel record.dependents.exists(d,d=="Pod/report-x")`:                  "job.batch/report",
		`--cel size(record.dependents)+size(record.labels)==0`:                 "widget.example.com/w secret/token job.batch/mail",
		`--cel has(object.metadata)`:                                           all,
		`--cel record.archivedAt<timestamp("2026-02-27T10:00:01Z")`:            "job.batch/report",
	} {
		got := run(t, "", slices.Concat([]string{"archive", "ls", "--url", url, "-o", "name"}, strings.Fields(args))...)
		wants(t, got, command.ExitOK)
		expect.Equal(t, args, want, strings.Join(strings.Fields(got.out), " "))
	}
	wants(t, run(t, "", "archive", "ls", "jobs", "--url", url, "--cel", `record.labels.team == "a"`, "-o", "name"), command.ExitError,
		"--cel fails on Job.batch/dev/mail: filter: no such key: team")
	wants(t, run(t, "", "archive", "ls", "jobs", "--url", url, "--policy", "none"), command.ExitOK, "No record found in archive file://")
	for _, args := range []string{"pod/report-x -n prod", "job/report --uid u2", "job,po report-x -n prod"} {
		got := run(t, "", slices.Concat([]string{"archive", "ls", "--url", url}, strings.Fields(args))...)
		wants(t, got, command.ExitFindings, "No record found in archive "+url+": ")
		expect.Equal(t, args, "", got.out)
	}
	wants(t, run(t, "", "archive", "ls", "--url", url, "--policy", "none", "-o", "json"), command.ExitOK, `"items": []`)
	wants(t, run(t, "", "archive", "ls", "pods", "--url", url, "-o", "json"), command.ExitOK, `"dependent": "Pod/report-x"`, `"name": "report"`, `"result": "deleted"`, `"outcome": "Failed"`)
	wants(t, run(t, "", "archive", "ls", "--url", url, "-o", "wide"), command.ExitOK, "RECORD OF", "segments/2026/02/27/")
	wants(t, run(t, "", "archive", "ls", "--url", url, "-o", "html"), command.ExitOK, "<title>Archived objects</title>", "By policy", "<td>report")
}

func TestArchiveGet(t *testing.T) {
	url := newArchived(t)
	got := run(t, "", "archive", "get", "job/report", "--url", url)
	wants(t, got, command.ExitOK, "kind: Job\n", "uid: u1\n", "parallelism: 2\n")
	wants(t, run(t, "", "archive", "get", "pod/report-x", "--url", url), command.ExitOK, "kind: Pod\n", "nodeName: n1\n")
	wants(t, run(t, "", "archive", "get", "job/report", "--url", url, "--record", "-o", "json"), command.ExitOK,
		`"kind": "ArchiveRecord"`, `"outcome": "Failed"`, `"result": "deleted"`, `"text": "one\ntwo\n"`)
	wants(t, run(t, "", "archive", "get", "jobs", "--url", url, "-o", "jsonpath={.items[*].metadata.name}"), command.ExitOK, "report mail")
	wants(t, run(t, "", "archive", "get", "job/report", "pod/report-x", "--url", url, "-o", "jsonpath={.items[*].kind}"), command.ExitOK, "Job Pod")
	wants(t, run(t, "", "archive", "get", "job/report", "pod/report-x", "--url", url, "--record", "-o", "jsonpath={.kind}"), command.ExitOK, "ArchiveRecord")
	wants(t, run(t, "", "archive", "get", "job/gone", "job/report", "pod/gone", "--url", url), command.ExitFindings, "name: report\n", "No record found in archive "+url+": job/gone, pod/gone.\n")
	wants(t, run(t, "", "archive", "get", "job", "gone", "report", "--url", url), command.ExitFindings, "name: report\n", ": job/gone.\n")
	wants(t, run(t, "", "archive", "get", "--url", url), command.ExitError, "requires at least 1 arg")
}

func TestArchiveLogs(t *testing.T) {
	url := newArchived(t)
	got := run(t, "", "archive", "logs", "job/report", "-c", "main", "--url", url)
	expect.Equal(t, "one log", ran{out: "one\ntwo\n"}, got, gocmp.AllowUnexported(ran{}))
	got = run(t, "", "archive", "logs", "pod/report-x", "--url", url)
	expect.Equal(t, "two logs", ran{
		out: "[pod/report-x/main] one\n[pod/report-x/main] two\n", err: "[pod/report-x/proxy] the archive has no log: forbidden\n",
	}, got, gocmp.AllowUnexported(ran{}))
	expect.Equal(t, "each log once", got, run(t, "", "archive", "logs", "job,pod", "--url", url), gocmp.AllowUnexported(ran{}))
	wants(t, run(t, "", "archive", "logs", "job/mail", "--url", url), command.ExitFindings, "the records have no such logs")
	wants(t, run(t, "", "archive", "logs", "job/report", "-c", "proxy", "--url", url), command.ExitFindings, "[pod/report-x/proxy] the archive has no log: forbidden\n", "note: the archive has no text of these logs")
}

func TestArchiveVerify(t *testing.T) {
	url := newArchived(t)
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitOK, "1 segment, 5 records, 1 index object", ": intact\n")
	dir := strings.TrimPrefix(url, "file://")
	write(t, filepath.Join(dir, "segments"), "notes.txt", "not a segment")
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitOK, `1 object not part of the archive, such as "segments/notes.txt"`)
	damage(t, url)
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitFindings, "damaged: ", "1 damaged, 0 missing")
	expect.NoError(t, os.RemoveAll(filepath.Join(dir, "index")))
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitFindings, "1 segment not in the index")
}

// TestArchiveVerifyKnowsRetain: a segment that is older than spec.retain is not missing.
func TestArchiveVerifyKnowsRetain(t *testing.T) {
	url := newArchived(t)
	expect.NoError(t, os.RemoveAll(filepath.Join(strings.TrimPrefix(url, "file://"), "segments")))
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitFindings, "missing: ", "0 damaged, 1 missing")
	s := newArchiveServer(t, url)
	for retain, want := range map[string]string{"1d": "1 segment expired", "99999d": "1 missing"} {
		s.list("/apis/sunset-k8s.io/v1alpha1/retentionarchives", "sunset-k8s.io/v1alpha1", "RetentionArchive",
			[]string{fmt.Sprintf(`{"metadata":{"name":"history"},"spec":{"url":%q,"retain":%q}}`, url, retain)})
		wants(t, s.run(t, "", "archive", "verify"), map[bool]int{true: command.ExitOK, false: command.ExitFindings}[retain == "1d"], want)
	}
}

// TestArchiveVerifyWithoutRetain: if the oldest segment is gone and retain is not known, the archive is not said to be intact.
func TestArchiveVerifyWithoutRetain(t *testing.T) {
	url := newArchived(t)
	dir := strings.TrimPrefix(url, "file://")
	found, err := filepath.Glob(dir + "/segments/*/*/*/*")
	expect.NoError(t, err)
	expect.NoError(t, os.Rename(found[0], filepath.Join(filepath.Dir(found[0]), strings.Replace(filepath.Base(found[0]), "T10", "T11", 1))))
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitOK, "1 segment expired, or older than all others", ": no damage found; ")
}

// damage changes a byte of the segment.
func damage(t *testing.T, url string) {
	t.Helper()
	found, err := filepath.Glob(strings.TrimPrefix(url, "file://") + "/segments/*/*/*/*.zst")
	expect.NoError(t, err)
	data, err := os.ReadFile(found[0])
	expect.NoError(t, err)
	data[len(data)/2] ^= 1
	expect.NoError(t, os.WriteFile(found[0], data, 0o600))
}

// TestArchiveUnread: damaged and foreign objects are named, the command goes on without them, and its exit code is 1.
func TestArchiveUnread(t *testing.T) {
	url := newArchived(t)
	dir := strings.TrimPrefix(url, "file://")
	key, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	intact, err := filepath.Glob(dir + "/segments/*/*/*/*")
	expect.NoError(t, err)
	other := strings.TrimPrefix(newArchived(t, key.Recipient()), "file://")
	const incomplete = "was not read completely: 2 segments, whose records are missing here, and 2 index objects, whose results are missing"
	for _, folder := range []string{"segments", "index"} {
		for _, from := range []string{other, strings.TrimPrefix(newArchived(t), "file://")} {
			found, err := filepath.Glob(from + "/" + folder + "/*/*/*/*")
			expect.NoError(t, err)
			data, err := os.ReadFile(found[0])
			expect.NoError(t, err)
			name := strings.Replace(strings.TrimPrefix(found[0], from), "T", "T1", 1) // as if written later
			name = strings.Replace(name, "T110", "T11", 1)
			if from != other {
				data = append(data, 0)
			}
			expect.NoError(t, os.WriteFile(dir+name, data, 0o600))
		}
	}
	wants(t, run(t, "", "archive", "ls", "--url", url, "-o", "name"), command.ExitFindings, "job.batch/report\n", "warning: object \"segments/", "not what was written",
		"encrypted for other recipients", incomplete)
	wants(t, run(t, "", "archive", "ls", "--url", url, "--cel", `object.kind == "Job"`, "-o", "name"), command.ExitFindings, "job.batch/report\n", incomplete)
	wants(t, run(t, "", "archive", "get", "job/report", "--url", url), command.ExitFindings, "name: report\n", incomplete)
	wants(t, run(t, "", "archive", "logs", "job/report", "-c", "main", "--url", url), command.ExitFindings, "one\ntwo\n", incomplete)
	wants(t, run(t, "", "who", "job/report", "-n", "dev", "--url", url), command.ExitFindings, "Sunset", incomplete)
	s := newArchiveServer(t, url)
	wants(t, s.run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings, "Job.batch/dev/report restored\n", "Job.batch/dev/mail restored\n", incomplete)
	s.list("/apis/events.k8s.io/v1/namespaces/dev/events", "events.k8s.io/v1", "Event", nil)
	s.store("/apis/sunset-k8s.io/v1alpha1/retentionarchives/history", fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionArchive","metadata":{"name":"history"},"spec":{"url":%q}}`, url))
	wants(t, s.run(t, "", "who", "job/report", "-n", "dev"), command.ExitFindings, "Sunset", incomplete)

	for i := range 12 {
		write(t, filepath.Join(dir, "segments/2026/02/27"), fmt.Sprintf("20260227T10%02d00Z-%064d.jsonl.zst", i, 0), "x")
	}
	wants(t, run(t, "", "archive", "ls", "--url", url, "-o", "name"), command.ExitFindings, "warning: 6 more\n", "14 segments, whose records")
	expect.NoError(t, os.WriteFile(intact[0], []byte("x"), 0o600))
	wants(t, run(t, "", "archive", "get", "job/report", "--url", url), command.ExitFindings, "15 segments, whose records are missing here")
}

// TestArchiveRestoreUnread: if the newest record of an object is damaged, the one before is not restored.
func TestArchiveRestoreUnread(t *testing.T) {
	config := func(version string) []archivedObject {
		return []archivedObject{{object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"dev","uid":"uid-` + version + `","resourceVersion":"5"},"data":{"a":"` + version + `"}}`}}
	}
	other := archivedObject{object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other","namespace":"dev","uid":"uid-other","resourceVersion":"5"}}`}
	url, newer := newArchivedOf(t, config("old")), newArchivedOf(t, append([]archivedObject{other}, config("new")...)) // a second later
	dir := strings.TrimPrefix(url, "file://")
	for _, folder := range []string{"segments", "index"} {
		found, err := filepath.Glob(strings.TrimPrefix(newer, "file://") + "/" + folder + "/*/*/*/*")
		expect.NoError(t, err)
		data, err := os.ReadFile(found[0])
		expect.NoError(t, err)
		if folder == "segments" {
			data = append(data, 0)
		}
		expect.NoError(t, os.WriteFile(dir+strings.TrimPrefix(found[0], strings.TrimPrefix(newer, "file://")), data, 0o600))
	}
	wants(t, newArchiveServer(t, url).run(t, "", "archive", "restore", "-A", "--yes"), command.ExitFindings,
		"ConfigMap/dev/settings not restored: a newer record of an object of this name cannot be read")
}

func TestArchiveEncrypted(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	url := newArchived(t, key.Recipient())
	file := write(t, t.TempDir(), "key.txt", key.String()+"\n")
	wants(t, run(t, "", "archive", "ls", "--url", url), command.ExitError, "use --identity FILE")
	wants(t, run(t, "", "archive", "ls", "--url", url, "--identity", file), command.ExitOK, "report")
	wants(t, run(t, "", "archive", "ls", "--url", url, "--identity", "testdata/invalid.yaml"), command.ExitError, "not the private keys of age")
	wants(t, run(t, "", "archive", "compact", "--url", url, "--identity", file), command.ExitError, "choose another place for them, with --to URL")
	wants(t, run(t, "", "archive", "compact", "--url", url), command.ExitError, "use --identity FILE")
	wants(t, run(t, "", "archive", "verify", "--url", url), command.ExitOK, "1 segment, 0 records", "no damage found; without their keys, only the digests of 2 objects were checked; missing segments were not looked for in 1 index object; use --identity FILE\n")
	wants(t, run(t, "", "archive", "verify", "--url", url, "--identity", file), command.ExitOK, ": intact\n")
}

// newArchiveServer has a RetentionArchive and the namespaces of the archived objects.
func newArchiveServer(t *testing.T, url string) *apiServer {
	s := newAPIServer(t)
	s.list("/apis/sunset-k8s.io/v1alpha1/retentionarchives", "sunset-k8s.io/v1alpha1", "RetentionArchive",
		[]string{fmt.Sprintf(`{"metadata":{"name":"history"},"spec":{"url":%q}}`, url)})
	s.store("/api/v1/namespaces/dev", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"dev","uid":"u-dev"}}`)
	return s
}

// TestArchiveKindOfTheCluster: a name means the kind that the cluster serves, also if a kind of Kubernetes has this name.
func TestArchiveKindOfTheCluster(t *testing.T) {
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{
		{object: `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w","uid":"u1","resourceVersion":"5"}}`},
	}))
	s.serve("kueue.x-k8s.io", "workloads", "Workload")
	wants(t, s.run(t, "", "archive", "ls", "workloads", "-A", "-o", "name"), command.ExitOK, "workload.kueue.x-k8s.io/w")
}

func TestArchiveDiff(t *testing.T) {
	s := newArchiveServer(t, newArchived(t))
	wants(t, s.run(t, "", "archive", "diff", "job/report"), command.ExitFindings, "-  name: report\n")
	recreated := strings.NewReplacer(`"uid":"u1","resourceVersion":"5"`, `"uid":"u9","resourceVersion":"8","generation":1`, "2026-02-20", "2026-02-28").Replace(archived[0].object)
	s.store("/apis/batch/v1/namespaces/dev/jobs/report", recreated)
	expect.Equal(t, "equal", ran{}, s.run(t, "", "archive", "diff", "job/report"), gocmp.AllowUnexported(ran{}))
	s.store("/apis/batch/v1/namespaces/dev/jobs/report", strings.Replace(recreated, `"parallelism":2`, `"parallelism":3`, 1))
	wants(t, s.run(t, "", "archive", "diff", "job/report"), command.ExitFindings, "-  parallelism: 2\n+  parallelism: 3\n")
	wants(t, s.run(t, "", "archive", "diff", "secret/token", "-n", "prod"), command.ExitFindings, "-type: Opaque\n")
	s.store("/api/v1/namespaces/prod/secrets/token", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token","namespace":"prod","uid":"u3","resourceVersion":"6","labels":{"a":"b"}}}`)
	s.list("/api/v1/namespaces/prod/secrets", "v1", "Secret", []string{`{"metadata":{"name":"token"}}`})
	wants(t, s.run(t, "", "archive", "diff", "secret/token", "-n", "prod"), command.ExitFindings, "+  labels:\n+    a: b\n   name: token\n")
}

// TestDifferenceOfSecrets: no difference shows a value of a Secret.
func TestDifferenceOfSecrets(t *testing.T) {
	const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"dev","uid":"u1","resourceVersion":"5",
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{stringData: c2FtZQ==}"}},"data":{"a":"c2FtZQ==","b":"b25l","c":"Z29uZQ=="}}`
	s := newArchiveServer(t, newArchivedOf(t, []archivedObject{{object: secret}}))
	const masked = "-  a: '***'\n-  b: '***'\n-  c: '***'\n"
	missing := s.run(t, "", "archive", "diff", "secret/s")
	wants(t, missing, command.ExitFindings, masked)
	s.proxied = map[string]http.HandlerFunc{"/api/v1/namespaces/dev/secrets": func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.NewReplacer("b25l", "dHdv", `"c":"Z29uZQ=="`, `"d":"bmV3"`, "{stringData", "{data").Replace(string(sent)))
	}}
	restored := s.run(t, "", "archive", "restore", "secret/s", "--diff", "--yes")
	wants(t, restored, command.ExitOK, "   a: '***'\n-  b: '*** (before)'\n-  c: '***'\n+  b: '*** (after)'\n+  d: '***'\n", "last-applied-configuration: '*** (before)'")
	for _, value := range []string{"c2FtZQ==", "b25l", "Z29uZQ==", "dHdv", "bmV3"} {
		if strings.Contains(missing.out+restored.out, value) {
			t.Errorf("a difference shows %s:\n%s%s", value, missing.out, restored.out)
		}
	}
}

// TestArchiveChoice: the only RetentionArchive of the cluster is the default.
func TestArchiveChoice(t *testing.T) {
	url := newArchived(t)
	s := newArchiveServer(t, url)
	wants(t, s.run(t, "", "archive", "ls", "-A"), command.ExitOK, "report")
	const path = "/apis/sunset-k8s.io/v1alpha1/retentionarchives"
	s.list(path, "sunset-k8s.io/v1alpha1", "RetentionArchive", []string{`{"metadata":{"name":"a"},"spec":{"url":"file:///none"}}`, `{"metadata":{"name":"b"},"spec":{"url":"file:///none"}}`})
	wants(t, s.run(t, "", "archive", "ls", "-A"), command.ExitError, "several RetentionArchives; choose one with --archive: a, b")
	s.store(path+"/c", fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionArchive","metadata":{"name":"c"},"spec":{"url":%q}}`, url))
	wants(t, s.run(t, "", "archive", "ls", "-A", "--archive", "c"), command.ExitOK, "report")
	s.list(path, "sunset-k8s.io/v1alpha1", "RetentionArchive", nil)
	wants(t, s.run(t, "", "archive", "ls", "-A"), command.ExitError, "the cluster has no RetentionArchive", "use --url")
	wants(t, s.run(t, "", "archive", "ls", "-A", "--archive", "c", "--url", url), command.ExitError, "[archive url]")
}

func TestArchiveCompact(t *testing.T) {
	url := newArchived(t)
	got := run(t, "", "archive", "compact", "--url", url)
	wants(t, got, command.ExitOK, "parquet/month=2026-02/20260227-", "5 records copied into 1 file.")
	wants(t, run(t, "", "archive", "compact", "--url", url), command.ExitOK, "0 records copied into 0 files.")
	for _, whole := range []string{"compact", "verify"} {
		wants(t, run(t, "", "archive", whole, "--url", url, "-n", "dev"), command.ExitError, "unknown shorthand flag: 'n'")
	}
}

// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/test/expect"
)

// content is a record of a Job with two Pods and a ConfigMap. Values of it are redacted.
func content() archive.Content {
	return archive.Content{
		Entry: archive.NewEntry(records.Meta{Segment: "segments/x", Line: 3, Dependents: []string{"Pod/p", "ConfigMap/c", "Pod/q", "Pod/none"}}),
		Record: records.Record{
			Object: json.RawMessage(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","uid":"u-j"},"spec":{"parallelism":1}}`),
			Dependents: []json.RawMessage{
				json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`),
				json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u-j"}]}}`),
				json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"}}`),
			},
			Redacted: append(slices.Clone(redact.Copies), "spec.token"),
			Outcome:  "Failed",
			Snapshot: "sunset-1",
		},
	}
}

// TestToRestore: dependents are objects of their own, except those that are never restored, which are only counted. If the user
// selects a dependent, it is the only one.
func TestToRestore(t *testing.T) {
	all, err := content().ToRestore("history", nil)
	expect.NoError(t, err)
	if len(all) != 2 || all[0].Archived.GetName() != "j" || all[1].Archived.GetName() != "c" {
		t.Fatalf("records %v", all)
	}
	expect.Equal(t, "from", "history/segments/x#3", all[0].From)
	expect.Equal(t, "left", 2, all[0].Left)
	expect.Equal(t, "outcomes", "Failed, ", all[0].Outcome+", "+all[1].Outcome)
	expect.Equal(t, "VolumeSnapshots", "sunset-1, ", all[0].Snapshot+", "+all[1].Snapshot)
	for _, r := range all {
		expect.Equal(t, "redacted", []string{"spec.token"}, r.Redacted)
	}
	if _, isInt := all[0].Archived.Object["spec"].(map[string]any)["parallelism"].(int64); !isInt {
		t.Errorf("numbers are not those of Kubernetes: %#v", all[0].Archived)
	}
	ofDependent := func(position int) ([]restore.Record, error) {
		c := content()
		c.Entry = c.OfDependent(position)
		return c.ToRestore("history", nil)
	}
	expect.Equal(t, "Pods", 2, len(all[0].Others))
	for position, name := range map[int]string{2: "Pod/q", 1: "ConfigMap/c"} {
		one, err := ofDependent(position)
		expect.NoError(t, err)
		if len(one) != 1 || one[0].Archived.GetKind()+"/"+one[0].Archived.GetName() != name {
			t.Errorf("%s: %v", name, one)
		}
		expect.Equal(t, "others", 3, len(one[0].Others))
		expect.Equal(t, "outcome of the owner", "Failed", one[0].Others[0].Outcome)
	}
	if _, err := ofDependent(3); err == nil {
		t.Error("a dependent that the record does not have")
	}
}

// TestToRestoreForeign: an object that the object of the record did not own, or that is in another namespace, is foreign.
func TestToRestoreForeign(t *testing.T) {
	const foreign, outside = "which did not own it", "it is not in namespace shop"
	shop := "shop"
	dependent := func(namespace, uid, owner string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":%q,"uid":%q,"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":%q}]}}`, namespace, uid, owner)
	}
	for behaviour, c := range map[string]struct {
		owner      string // namespace
		dependents []string
		namespace  *string
		want       string // why the last one is foreign
	}{
		"owned":                              {shop, []string{dependent(shop, "u1", "u0")}, &shop, ""},
		"owned by another one":               {shop, []string{dependent(shop, "u2", "u1"), dependent(shop, "u1", "u0"), dependent(shop, "u3", "u2")}, nil, ""},
		"of no owner":                        {shop, []string{`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop","uid":"u1"}}`}, nil, foreign},
		"of an owner that is not in it":      {shop, []string{dependent(shop, "u1", "u9")}, nil, foreign},
		"its own owner":                      {shop, []string{dependent(shop, "u1", "u1")}, nil, foreign},
		"of another namespace":               {shop, []string{dependent("prod", "u1", "u0")}, nil, foreign},
		"of another namespace, and indirect": {"", []string{dependent(shop, "u1", "u0"), dependent("prod", "u2", "u1")}, nil, foreign},
		"of a cluster-scoped owner":          {"", []string{dependent("prod", "u1", "u0")}, nil, ""},
		"outside of the selected namespace":  {"", []string{dependent("prod", "u1", "u0")}, &shop, outside},
		"cluster-scoped, with a namespace":   {"", []string{dependent("", "u1", "u0")}, &shop, outside},
	} {
		t.Run(behaviour, func(t *testing.T) {
			content := archive.Content{Record: records.Record{Object: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"X","metadata":{"name":"x","namespace":%q,"uid":"u0"}}`, c.owner)}}
			for _, d := range c.dependents {
				content.Record.Dependents = append(content.Record.Dependents, json.RawMessage(d))
				content.Entry.Dependents = append(content.Entry.Dependents, "Secret/s")
			}
			for _, alone := range []bool{false, true} {
				if alone {
					content.Entry = content.OfDependent(len(c.dependents) - 1)
				}
				all, err := content.ToRestore("history", c.namespace)
				expect.NoError(t, err)
				if got := all[len(all)-1].Foreign; (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
					t.Errorf("alone %v: %q, want %q", alone, got, c.want)
				}
			}
		})
	}
}

// TestLogs: the logs of a record, or of the Pods that a dependent is or owns.
func TestLogs(t *testing.T) {
	c := archive.Content{Record: records.Record{
		Object: json.RawMessage(`{"apiVersion":"x/v1","kind":"Set","metadata":{"name":"s","uid":"Set/s"}}`),
		Logs:   []records.Log{{Pod: "a", Container: "main"}, {Pod: "a", Container: "proxy"}, {Pod: "b", Container: "main"}},
	}}
	for _, d := range [][2]string{{"Job/a", "Set/s"}, {"Pod/a", "Job/a"}, {"Job/b", "Set/s"}, {"Pod/b", "Job/b"}, {"ConfigMap/a", "Pod/a"}} {
		kind, name, _ := strings.Cut(d[0], "/")
		c.Record.Dependents = append(c.Record.Dependents, fmt.Appendf(nil, `{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"uid":%q,"ownerReferences":[{"uid":%q}]}}`, kind, name, d[0], d[1]))
		c.Entry.Dependents = append(c.Entry.Dependents, d[0])
	}
	for position, want := range []string{"a/main a/proxy b/main", "a/main a/proxy", "a/main a/proxy", "b/main", "b/main", ""} {
		one := c
		if position > 0 {
			one.Entry = c.OfDependent(position - 1)
		}
		logs, err := one.Logs("")
		expect.NoError(t, err)
		var names []string
		for _, l := range logs {
			names = append(names, l.Pod+"/"+l.Container)
		}
		expect.Equal(t, "logs of "+one.Dependent, want, strings.Join(names, " "))
	}
}

// TestLogWriter: it holds only the first log, until a second one of any record shows that there are several. It writes each log once.
func TestLogWriter(t *testing.T) {
	log := func(line int, texts ...string) archive.Content {
		c := archive.Content{Entry: archive.NewEntry(records.Meta{Line: line})}
		for i, text := range texts {
			c.Record.Logs = append(c.Record.Logs, records.Log{Pod: fmt.Sprint("p", i), Container: "c", Text: text})
		}
		return c
	}
	var out strings.Builder
	w := &archive.LogWriter{Out: &out, Notes: io.Discard}
	for _, step := range []struct {
		add  archive.Content
		want string // until then
	}{
		{log(0), ""}, {log(1, "one"), ""}, {log(1, "one"), ""}, {log(2, "one"), "[pod/p0/c] one\n[pod/p0/c] one\n"}, {log(2, "one", "two"), "[pod/p0/c] one\n[pod/p0/c] one\n[pod/p1/c] two\n"},
	} {
		expect.NoError(t, w.Add(step.add))
		expect.Equal(t, "written", step.want, out.String())
	}
}

// TestWriteLogsEscaped: names and reasons have no control characters, and on a terminal, the text of logs has none either.
func TestWriteLogsEscaped(t *testing.T) {
	logs := []records.Log{{Pod: "p\n\x1b[2K", Container: "c", Text: "\x1b[2Kone\ttwo\r\nthree"}, {Pod: "q", Missing: "no\n\x1b[2K"}}
	for _, c := range []struct {
		log        string
		isTerminal bool
	}{{"\x1b[2Kone\ttwo\r", false}, {`^[[2Kone` + "\t" + `two\r`, true}} {
		var out, notes strings.Builder
		w := io.Writer(&out)
		if c.isTerminal {
			w = text.Writer{Writer: w}
		}
		writer := &archive.LogWriter{Out: w, Notes: &notes}
		expect.NoError(t, writer.Add(archive.Content{Record: records.Record{Logs: logs}}))
		const prefix = `[pod/p\n^[[2K/c] `
		expect.Equal(t, "logs", prefix+c.log+"\n"+prefix+"three\n", out.String())
		expect.Equal(t, "notes", `[pod/q/] the archive has no log: no\n^[[2K`+"\n", notes.String())
	}
}

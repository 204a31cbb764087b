// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/go-logr/zapr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	format "github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)

func removal() retention.Removal {
	return retention.Removal{
		Kind: fixture.Jobs, Subject: policy.Subject{Namespace: "shop", Name: "report", UID: "u1", ResourceVersion: "7"},
		Rule:   &policy.Rule{ID: policy.RuleID{Policy: "batch", Rule: "jobs"}, PolicyUID: "p1", Propagation: "Background"},
		Reason: policy.Expired, Outcome: "Failed", Due: now.Add(-time.Second), At: now,
		Policy: &policy.Policy{Generation: 3, Hash: "abc", Approvals: []string{"x", "y"}}, TraceID: "t1",
	}
}

func recorded() format.Record {
	return format.Record{
		Time: now, Result: format.Deleted, Propagation: "Background", Policy: "batch", PolicyUID: "p1", Generation: 3, Hash: "abc", Approvals: []string{"x", "y"},
		Object: format.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "report", UID: "u1", ResourceVersion: "7"},
		Rule:   "jobs", Reason: "Expired", Outcome: "Failed", DueTime: now.Add(-time.Second), Controller: "c1", TraceID: "t1",
	}
}

// write returns what is written about a removal in a format: to the log, and to the output.
func write(as string, r retention.Removal) (log, out string) {
	var logged, written bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
	w := &audit.Writer{
		Format: as, Out: &written, Controller: "c1",
		Log: zapr.NewLogger(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&logged), zapcore.InfoLevel))),
	}
	w.Write(r)
	return logged.String(), written.String()
}

func TestWrite(t *testing.T) {
	owned, unsure, archived := removal(), removal(), removal()
	archived.Receipt = policy.Receipt{Archive: &policy.Archive{To: "history"}, Segment: "segments/s1", Line: 4}
	owned.Owner = &policy.Owner{Kind: fixture.Jobs, Name: "nightly", UID: "u2"}
	owned.Target = policy.Target{Kind: fixture.Jobs, Namespace: "shop", Name: "nightly", UID: "u2", ResourceVersion: "9"}
	unsure.Unsure, unsure.Policy = true, nil
	withOwner, unknown, withReceipt := recorded(), recorded(), recorded()
	withReceipt.Archive = &format.Receipt{Name: "history", Segment: "segments/s1", Line: 4}
	withOwner.Owner = &format.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "nightly", UID: "u2", ResourceVersion: "9"}
	unknown.Result, unknown.Generation, unknown.Hash, unknown.Approvals = format.Unknown, 0, "", nil
	for name, test := range map[string]struct {
		removal retention.Removal
		want    format.Record
		says    string
	}{
		"an object":                           {removal(), recorded(), `"msg":"object deleted"`},
		"its owner instead":                   {owned, withOwner, `"msg":"object deleted"`},
		"an archived object":                  {archived, withReceipt, `"msg":"object deleted"`},
		"no answer, and the policy not known": {unsure, unknown, `"msg":"object may be deleted"`},
	} {
		t.Run(name, func(t *testing.T) {
			log, _ := write(audit.Log, test.removal)
			_, event := write(audit.CloudEvents, test.removal)
			for _, line := range []string{log, event} {
				r, ok := format.Parse([]byte(line))
				if diff := cmp.Diff(test.want, r); !ok || diff != "" {
					t.Errorf("%s is a record: %v (-want +got)\n%s", line, ok, diff)
				}
			}
			expect.Equal(t, "message", true, strings.Contains(log, test.says))
		})
	}
}

// TestWriteCloudEvent: a CloudEvent has the attributes that the specification requires, on one line.
func TestWriteCloudEvent(t *testing.T) {
	log, event := write(audit.CloudEvents, removal())
	expect.Equal(t, "log", "", log)
	expect.Equal(t, "lines", 1, strings.Count(event, "\n"))
	var attributes map[string]any
	expect.NoError(t, json.Unmarshal([]byte(event), &attributes))
	delete(attributes, "data")
	expect.Equal(t, "attributes", map[string]any{
		"specversion": "1.0", "id": "u1-2026-03-01T12:00:00.005Z", "source": "sunset-k8s.io/c1", "type": "io.sunset-k8s.deletion.v1",
		"subject": "Job.batch/shop/report", "time": "2026-03-01T12:00:00.005Z", "datacontenttype": "application/json",
	}, attributes)
}

func TestWriteNothing(t *testing.T) {
	for _, as := range []string{audit.None, ""} {
		log, out := write(as, removal())
		expect.Equal(t, "written", "", log+out)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestWriteFails: a CloudEvent that cannot be written is logged and counted.
func TestWriteFails(t *testing.T) {
	var lines []string
	failed := 0
	w := &audit.Writer{
		Format: audit.CloudEvents, Out: full{}, Failed: func() { failed++ },
		Log: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}),
	}
	w.Write(removal())
	expect.Equal(t, "counted", 1, failed)
	expect.Equal(t, "lines", 1, len(lines))
	expect.Equal(t, "says why", true, strings.Contains(lines[0], "no space left on device"))
}

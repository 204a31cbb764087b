// SPDX-License-Identifier: Apache-2.0

// Package audit writes a record of each deletion: to the log, or as a CloudEvent to standard output. Writing is all that it
// does, so the caller waits no longer than for a line of the log. A record whose line cannot be written is lost; the audit log
// of the API server still has the request.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/sunset-k8s/sunset/controllers/cloudevents"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// The values of Writer.Format.
const (
	Log         = "Log"
	CloudEvents = "CloudEvents"
	None        = "None"
)

// Metric and MetricHelp describe the counter of calls of Writer.Failed.
const (
	Metric     = "sunset_audit_errors_total"
	MetricHelp = "Audit records that could not be written as CloudEvents to standard output."
)

// LoggerName is the name of Writer.Log. Lines of this logger are written at every log level: see package program.
const LoggerName = "audit"

// Formats returns all values of Writer.Format.
func Formats() []string { return []string{Log, CloudEvents, None} }

// Writer writes records. It is safe for concurrent use.
type Writer struct {
	Format     string      // Log, CloudEvents or None; empty means None
	Log        logr.Logger // for Log
	Out        io.Writer   // for CloudEvents, one line each
	Controller string      // identity of this process
	Node       string      // of an agent; empty otherwise
	Failed     func()      // called if a CloudEvent cannot be written; nil for nothing

	mu sync.Mutex // of Out
}

// Write writes the record of a deletion.
func (w *Writer) Write(r retention.Removal) {
	switch w.Format {
	case Log:
		w.Log.Info(message(r), audit.Key, w.record(r))
	case CloudEvents:
		if err := w.event(w.record(r)); err != nil {
			w.Log.Error(err, "audit record not written", "object", r.Subject.Name, "namespace", r.Subject.Namespace, "rule", r.Rule.ID.String())
			if w.Failed != nil {
				w.Failed()
			}
		}
	}
}

func message(r retention.Removal) string {
	if r.Unsure {
		return "object may be deleted"
	}
	return "object deleted"
}

func (w *Writer) record(r retention.Removal) audit.Record {
	record := audit.Record{
		Time: r.At.UTC(), Result: audit.Deleted, Object: audit.ObjectOf(policy.TargetOf(r.Kind, r.Subject)), Propagation: string(r.Rule.Propagation),
		Policy: r.Rule.ID.Policy, PolicyUID: r.Rule.PolicyUID, Rule: r.Rule.ID.Rule, ServiceAccount: r.Rule.ServiceAccount,
		Reason: string(r.Reason), DueTime: r.Due.UTC(), Outcome: r.Outcome, Controller: w.Controller, Node: w.Node, TraceID: r.TraceID,
	}
	if r.Unsure {
		record.Result = audit.Unknown
	}
	if r.Owner != nil {
		owner := audit.ObjectOf(r.Target)
		record.Owner = &owner
	}
	if a := r.Receipt.Archive; a != nil {
		record.Archive = &audit.Receipt{Name: a.To, Segment: r.Receipt.Segment, Line: r.Receipt.Line}
	}
	record.Snapshot = r.Snapshot.Name
	if p := r.Policy; p != nil {
		record.Generation, record.Hash, record.Approvals = p.Generation, p.Hash, p.Approvals
	}
	return record
}

// event writes a record as a CloudEvent.
func (w *Writer) event(r audit.Record) error {
	id := fmt.Sprintf("%s-%s", r.Object.UID, r.Time.Format(time.RFC3339Nano))
	e := cloudevents.New("sunset-k8s.io/"+w.Controller, id, audit.EventType, r.Time, r)
	e.Subject = r.Object.String()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.Out.Write(append(line, '\n'))
	return err
}

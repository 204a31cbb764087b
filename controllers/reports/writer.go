// SPDX-License-Identifier: Apache-2.0

// Package reports writes the Reports and ClusterReports that package policy/report encodes.
//
// It promises:
//
//   - Nothing waits for it: it has a loop of its own, and reads the facts in the same way as the count for the status.
//   - Only the leader writes: at most maxWrites reports a minute, and only those that have changed.
//   - While the objects of a kind are not listed, the reports of the policies about that kind stay as they are.
//
// A report has its policy as owner, so the garbage collector deletes it with the policy.
package reports

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
)

const (
	tickEvery      = 5 * time.Second
	roundEvery     = time.Minute
	restFactor     = 50               // reading the facts takes at most 1/50 of a core
	maxWrites      = 60               // in a round; at most half of them are deletions while there is more to write
	maxFailures    = 5                // in a round, which then ends
	failurePause   = 10 * time.Minute // before another attempt to write a report
	requestTimeout = 10 * time.Second
	pageSize       = 500
)

// Options are the dependencies of a Writer.
type Options struct {
	Client  client.Client                              // writes reports
	Live    client.Reader                              // reads the metadata of reports from the API server
	State   interface{ Kinds() []retention.KindState } // the facts
	Ledgers interface {
		State(types.UID) (ledgers.State, bool)
	} // the number of deletions by policy; false if it is not known
	Complete   func() bool                // whether all policies have been read
	Leadership interface{ Check() error } // whether this process leads
	Clock      clock.WithTicker
}

// Writer writes reports. Create it with New.
type Writer struct {
	Options

	mu       sync.Mutex
	snapshot *policy.Snapshot

	nextRound time.Time                // no round begins before
	tried     map[report.Key]time.Time // when a report was written; after an error, the time of the next attempt
}

// New returns a Writer.
func New(o Options) *Writer { return &Writer{Options: o, tried: map[report.Key]time.Time{}} }

// Use takes a new snapshot of the policies.
func (w *Writer) Use(s *policy.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshot = s
}

// Start runs until ctx ends.
func (w *Writer) Start(ctx context.Context) error {
	ticker := w.Clock.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			w.round(ctx)
		}
	}
}

// stored is what a round needs of a report in the cluster. Anyone may create reports with large metadata, which are not kept.
type stored struct {
	uid         types.UID
	hash        string
	terminating bool
}

func storedOf(o *metav1.ObjectMeta) stored {
	s := stored{uid: o.UID, terminating: !o.DeletionTimestamp.IsZero()}
	if hash := o.Annotations[report.HashAnnotation]; len(hash) <= longestHash {
		s.hash = strings.Clone(hash)
	}
	return s
}

// longestHash is more than the length of a hash that Sunset writes.
const longestHash = 64

// list reads the metadata of all reports of Sunset.
func (w *Writer) list(ctx context.Context) (map[report.Key]stored, error) {
	all := map[report.Key]stored{}
	for _, kind := range []schema.GroupVersionKind{report.Reports, report.ClusterReports} {
		for next, more := "", true; more; more = next != "" {
			page := &metav1.PartialObjectMetadataList{}
			page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			reading, cancel := context.WithTimeout(ctx, requestTimeout)
			err := w.Live.List(reading, page, client.MatchingLabels{report.ManagedByLabel: report.ManagedBy}, client.Limit(pageSize), client.Continue(next))
			cancel()
			if err != nil {
				return nil, fmt.Errorf("list %ss of OpenReports: %w", kind.Kind, err)
			}
			for i := range page.Items {
				if k, ok := report.KeyOf(page.Items[i].Namespace, page.Items[i].Name); ok {
					all[k] = storedOf(&page.Items[i].ObjectMeta)
				}
			}
			next = page.Continue
		}
	}
	return all, nil
}

// change is a report to write or, without a body, to delete.
type change struct {
	key  report.Key
	body []byte
	uid  types.UID // of the report to delete
}

// try makes a change, and records the result.
func (w *Writer) try(ctx context.Context, c change) (ok bool) {
	verb, result, next := "apply", "written", w.Clock.Now()
	if c.body == nil {
		verb, result = "delete", "deleted"
	}
	err := w.send(ctx, c)
	if err != nil {
		result, next = "failed", next.Add(failurePause)
		log.FromContext(ctx).Info("report not changed", "verb", verb, "kind", c.key.Kind().Kind, "namespace", c.key.Namespace, "name", c.key.Name(), "err", err.Error())
	}
	metrics.ReportWrites.WithLabelValues(result).Inc()
	w.tried[c.key] = next
	return err == nil
}

func (w *Writer) send(ctx context.Context, c change) error {
	if err := w.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(c.key.Kind())
	target.SetNamespace(c.key.Namespace)
	target.SetName(c.key.Name())
	if c.body == nil {
		return client.IgnoreNotFound(w.Client.Delete(ctx, target, client.Preconditions{UID: &c.uid}))
	}
	return w.Client.Patch(ctx, target, client.RawPatch(types.ApplyPatchType, c.body), client.FieldOwner("sunset-controller"), client.ForceOwnership)
}

// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"
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
	restFactor     = 50 // reading the facts takes at most 1/50 of a core
	maxWrites      = 60 // in a round
	maxFailures    = 5  // in a round, which then ends
	firstBackoff   = time.Minute
	maxBackoff     = time.Hour
	requestTimeout = 10 * time.Second
	pageSize       = 500
)

// Options are the dependencies of a Writer.
type Options struct {
	Client     client.Client              // writes reports
	Live       client.Reader              // reads the metadata of reports from the API server
	State      State                      // has the facts
	Ledgers    Ledgers                    // have the numbers of deletions
	Complete   func() bool                // whether all policies have been read
	Leadership interface{ Check() error } // whether this process leads; nil: it does
	Clock      clock.WithTicker
}

// State is the state of the reconciler that a Writer reads.
type State interface{ Kinds() []retention.KindState }

// Ledgers is the state of the ledgers that a Writer reads.
type Ledgers interface {
	// State returns the state of the ledger of a policy; false if the policy has none, or it is not known yet.
	State(policy types.UID) (ledgers.State, bool)
}

// Writer writes reports. Create it with New.
type Writer struct {
	Options

	mu       sync.Mutex
	snapshot *policy.Snapshot

	rests    time.Time // until then there is no round
	attempts map[report.Key]attempt
	listErr  string // why reports could not be listed in the last round; empty if they could
}

// attempt is the latest attempt to write or delete a report.
type attempt struct {
	at       time.Time
	failures int // in a row
	retryAt  time.Time
}

// New returns a Writer.
func New(o Options) *Writer { return &Writer{Options: o, attempts: map[report.Key]attempt{}} }

// Use takes a new snapshot of the policies.
func (w *Writer) Use(s *policy.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshot = s
}

// inUse returns the latest snapshot; nil before all policies have been read.
func (w *Writer) inUse() *policy.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Complete != nil && !w.Complete() {
		return nil
	}
	return w.snapshot
}

// NeedLeaderElection returns true: only the leader writes.
func (w *Writer) NeedLeaderElection() bool { return true }

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

// stored is the metadata of a report.
type stored struct {
	uid  types.UID
	hash string
}

// list reads the metadata of all reports of Sunset.
func (w *Writer) list(ctx context.Context) (map[report.Key]stored, error) {
	all := map[report.Key]stored{}
	for _, kind := range []schema.GroupVersionKind{report.Reports, report.ClusterReports} {
		page := &metav1.PartialObjectMetadataList{}
		for next := ""; ; {
			page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			reading, cancel := context.WithTimeout(ctx, requestTimeout)
			err := w.Live.List(reading, page, client.MatchingLabels{report.ManagedByLabel: report.ManagedBy}, client.Limit(pageSize), client.Continue(next))
			cancel()
			if err != nil {
				return nil, fmt.Errorf("list %ss: %w", kind.Kind, err)
			}
			for i := range page.Items {
				o := &page.Items[i]
				if k, ok := report.KeyOf(o.Namespace, o.Name); ok {
					all[k] = stored{o.UID, o.Annotations[report.HashAnnotation]}
				}
			}
			if next = page.Continue; next == "" {
				break
			}
		}
	}
	return all, nil
}

// change is a report to write or, without a policy, to delete.
type change struct {
	key    report.Key
	policy *policy.Policy
	uid    types.UID // of the report to delete
}

// try makes a change, and records the result.
func (w *Writer) try(ctx context.Context, b *report.Builder, c change) error {
	now := w.Clock.Now()
	err := w.make(ctx, b, c)
	result, a := "written", attempt{at: now}
	switch {
	case err != nil:
		result, a.failures = "failed", w.attempts[c.key].failures+1
		a.retryAt = now.Add(min(firstBackoff<<min(a.failures-1, 10), maxBackoff))
		log.FromContext(ctx).Info("report not written", "kind", c.key.Kind().Kind, "namespace", c.key.Namespace, "name", c.key.Name(), "err", err.Error())
	case c.policy == nil:
		result = "deleted"
	}
	w.attempts[c.key] = a
	metrics.ReportWrites.WithLabelValues(result).Inc()
	return err
}

func (w *Writer) make(ctx context.Context, b *report.Builder, c change) error {
	if w.Leadership != nil {
		if err := w.Leadership.Check(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(c.key.Kind())
	target.SetNamespace(c.key.Namespace)
	target.SetName(c.key.Name())
	if c.policy == nil {
		return client.IgnoreNotFound(w.Client.Delete(ctx, target, client.Preconditions{UID: &c.uid}))
	}
	body, _, err := b.Encode(c.key, c.policy)
	if err != nil {
		return err
	}
	return w.Client.Patch(ctx, target, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner("sunset-controller"), client.ForceOwnership)
}

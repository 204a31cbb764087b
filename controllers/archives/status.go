// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The reasons of the conditions of a RetentionArchive, besides retention.ArchiveUnavailable.
const (
	Succeeded = "Succeeded"
	Failed    = "Failed"
	Available = "Available"
	Invalid   = "Invalid"
)

const (
	countsEvery  = time.Minute // between two writes of a status of which only counts have changed
	writeStatus  = 10 * time.Second
	fieldManager = "sunset-controller"
)

// written counts what a worker has written, in its life and, by the status, before.
type written struct {
	records, bytes int64
	last           time.Time
	continued      bool // the counts of the status are included
}

func (c *written) add(records, bytes int, at time.Time) {
	c.records += int64(records)
	c.bytes += int64(bytes)
	c.last = at
}

// resume continues the counts of a status.
func (c *written) resume(s v1alpha1.ArchiveStatus) {
	if !c.continued {
		c.continued = true
		c.records += s.Records
		c.bytes += s.Bytes
	}
}

// use sets the RetentionArchive as last read.
func (w *worker) use(a reading) {
	w.mu.Lock()
	w.shared = a.shared
	if w.spec.builder != nil && w.spec.object.Generation == a.Generation && w.invalid == nil && a.invalid == nil {
		w.spec.object = a.RetentionArchive // with a newer status
		w.mu.Unlock()
		return
	}
	s, err, news := spec{}, a.invalid, w.invalid == nil
	if err == nil {
		s, err = specOf(a.RetentionArchive)
	}
	if err != nil { // what is left to write is encrypted as before
		s = spec{object: a.RetentionArchive, encryption: w.spec.encryption}
	}
	if !slices.Equal(s.recipients, w.spec.recipients) {
		w.index.Use(s.parsed...)
	}
	w.spec, w.invalid = s, err
	w.receipts.recipients = s.recipients
	w.written.resume(a.Status)
	w.mu.Unlock()
	if err == nil {
		w.segment.use(s.encryption)
		w.wake.Send()
	} else if news {
		callReady(w.candidates())
	}
	w.attend.Send()
}

// writeStatus writes the status if it differs from the one that the cache has. Counts alone are written only once in a while.
func (u *upkeep) writeStatus(ctx context.Context, s spec) {
	u.mu.Lock()
	now := u.manager.Clock.Now()
	status := *s.object.Status.DeepCopy()
	u.describe(&status, s.object.Generation, now)
	u.mu.Unlock()
	if equality.Semantic.DeepEqual(status, s.object.Status) {
		return
	}
	if equality.Semantic.DeepEqual(status.Conditions, s.object.Status.Conditions) && now.Sub(u.statusAt) < countsEvery {
		return
	}
	u.statusAt = now
	if err := u.manager.patch(ctx, s.object, status); err != nil {
		log.FromContext(ctx).Error(err, "status of RetentionArchive not written", "archive", u.name)
	}
}

// describe sets what a status says. The caller holds mu.
func (w *worker) describe(s *v1alpha1.ArchiveStatus, generation int64, now time.Time) {
	s.ObservedGeneration, s.Records, s.Bytes = generation, w.written.records, w.written.bytes
	if !w.written.last.IsZero() {
		s.LastRecordTime = &metav1.Time{Time: w.written.last.UTC().Truncate(time.Second)}
	}
	for _, does := range []struct {
		of   string
		err  error
		what string
	}{
		{v1alpha1.ArchiveWritable, cmp.Or(w.probe.Write, w.refusal, w.index.err), "write objects to the store"},
		{v1alpha1.ArchiveReadable, w.probe.Read, "read back what it has written"},
		{v1alpha1.ArchiveDeletable, cmp.Or(w.probe.Delete, w.shared, w.expired), "delete objects from the store"},
	} {
		c := metav1.Condition{Type: does.of, Status: metav1.ConditionFalse}
		switch {
		case w.invalid != nil:
			c.Reason, c.Message = Invalid, w.invalid.Error()
		case does.err != nil:
			c.Reason, c.Message = Failed, does.err.Error()
		default:
			c.Status, c.Reason, c.Message = metav1.ConditionTrue, Succeeded, "Sunset can "+does.what
		}
		setCondition(s, c, generation, now)
	}
	ready := metav1.Condition{Type: v1alpha1.ArchiveReady, Status: metav1.ConditionFalse}
	switch {
	case w.invalid != nil:
		ready.Reason, ready.Message = Invalid, "rules that archive here keep all objects: "+w.invalid.Error()
	case w.reported() != nil:
		ready.Reason, ready.Message = retention.ArchiveUnavailable, "rules that archive here keep all objects: "+w.reported().Error()
	case w.refusal != nil:
		ready.Reason = retention.ArchiveUnavailable
		ready.Message = "rules that archive here keep objects whose records the store refuses: " + w.refusal.Error()
	default:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, Available, "rules can archive here"
	}
	setCondition(s, ready, generation, now)
}

func setCondition(s *v1alpha1.ArchiveStatus, c metav1.Condition, generation int64, now time.Time) {
	c.Message, c.ObservedGeneration = policy.Shorten(c.Message, policy.MaxConditionMessage), generation
	c.LastTransitionTime = metav1.Time{Time: now.UTC().Truncate(time.Second)}
	meta.SetStatusCondition(&s.Conditions, c)
}

// patch writes a status, unless this process no longer leads.
func (m *Manager) patch(ctx context.Context, of *v1alpha1.RetentionArchive, status v1alpha1.ArchiveStatus) error {
	if err := m.mayWrite(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeStatus)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.RetentionArchiveKind.Kind,
		"metadata": map[string]any{"name": of.Name, "uid": of.UID}, "status": status,
	})
	if err != nil {
		return err
	}
	target := &v1alpha1.RetentionArchive{}
	target.Name = of.Name
	return m.Client.Status().Patch(ctx, target, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(fieldManager), client.ForceOwnership)
}

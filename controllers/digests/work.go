// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The reasons of condition Ready.
const (
	Scheduled   = "Scheduled"
	Suspended   = "Suspended"
	Invalid     = "Invalid"
	NotAccepted = "NotAccepted"
)

// job is work on one RetentionDigest.
type job struct {
	written  *v1alpha1.RetentionDigest // as the cache has it
	digest   *digest.Digest            // nil if it is invalid
	problems []policy.Problem
	status   v1alpha1.DigestStatus // to write
}

// parse reads a RetentionDigest of the cache.
func parse(object *unstructured.Unstructured) *job {
	j := &job{}
	if raw, err := object.MarshalJSON(); err != nil {
		j.problems = []policy.Problem{{Path: "document", Message: err.Error()}}
	} else {
		j.written, j.problems = digest.Parse(raw)
	}
	if j.written == nil {
		j.written = &v1alpha1.RetentionDigest{}
		j.written.Name, j.written.UID, j.written.Generation = object.GetName(), object.GetUID(), object.GetGeneration()
	}
	if len(j.problems) == 0 {
		j.digest, j.problems = digest.Load(j.written)
	}
	j.status = *j.written.Status.DeepCopy()
	return j
}

// resume continues from a status that this process wrote, if the cache does not have it yet.
func (j *job) resume(own *v1alpha1.DigestStatus) {
	if cached := j.status.ScheduleTime; own != nil && own.ScheduleTime != nil && (cached == nil || cached.Before(own.ScheduleTime)) {
		j.status = *own.DeepCopy()
	}
}

// isIdle reports whether nothing is due, and the status is up to date.
func (j *job) isIdle(now time.Time) bool {
	if j.digest != nil && !j.digest.Due(&j.status, now).IsZero() {
		return false
	}
	status := *j.status.DeepCopy()
	j.describe(&status, now, nil)
	return equality.Semantic.DeepEqual(status, j.written.Status)
}

// reportFailing exports whether a digest is invalid or could not be sent.
func (j *job) reportFailing(err error) {
	failing := 0.0
	if j.digest == nil || err != nil {
		failing = 1
	}
	metrics.DigestFailing.WithLabelValues(j.written.Name).Set(failing)
}

// work sends a digest if it is due, and writes the status if it differs.
func (n *Notifier) work(ctx context.Context, j *job) {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	var err error
	if j.digest != nil {
		err = n.sendIfDue(ctx, j.digest, &j.status)
	}
	j.describe(&j.status, n.Clock.Now(), err)
	j.reportFailing(err)
	if failed := n.write(context.WithoutCancel(ctx), j); failed != nil && err == nil {
		err = failed // the next attempt only writes: end remembers what was accepted
	}
	n.end(j.written.UID, &j.status, err)
}

// sendIfDue sends a digest that is due, and sets what the next one continues from.
func (n *Notifier) sendIfDue(ctx context.Context, d *digest.Digest, status *v1alpha1.DigestStatus) error {
	scheduled := d.Due(status, n.Clock.Now())
	if scheduled.IsZero() {
		return nil
	}
	content, counts, err := n.compose(ctx, d, scheduled, status)
	if err == nil {
		err = n.send(ctx, d, content)
	}
	if err != nil {
		metrics.DigestAttempts.WithLabelValues(d.Name, "failed").Inc()
		log.FromContext(ctx).Info("digest not accepted", "digest", d.Name, "scheduled", scheduled, "err", err.Error())
		return err
	}
	metrics.DigestAttempts.WithLabelValues(d.Name, "accepted").Inc()
	log.FromContext(ctx).Info("digest accepted", "digest", d.Name, "scheduled", scheduled, "due", content.Due, "deleted", content.Deleted, "stuck", content.Stuck)
	status.ScheduleTime, status.AcceptedTime = &metav1.Time{Time: scheduled.UTC()}, &metav1.Time{Time: n.Clock.Now().UTC().Truncate(time.Second)}
	status.CountedTime, status.Counted = &metav1.Time{Time: content.Time.Truncate(time.Second)}, counts
	return nil
}

// send sends a digest if this process leads.
func (n *Notifier) send(ctx context.Context, d *digest.Digest, c *digest.Content) error {
	m, err := messageOf(d, c)
	if err != nil {
		return err
	}
	if err := n.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if d.Spec.Mail != nil {
		return n.sender.mail(ctx, d.Spec.Mail, m, idOf(d, c))
	}
	return n.sender.post(ctx, d.Spec.Webhook, m)
}

// backoff returns the delay after a number of failures.
func backoff(failures int, err error) time.Duration {
	delay := min(firstBackoff<<min(failures-1, 10), maxBackoff)
	if later := (laterError{}); errors.As(err, &later) {
		delay = max(delay, later.after)
	}
	return delay
}

// describe sets the condition Ready and the time of the next digest in a status. err is why the latest digest was not accepted.
func (j *job) describe(s *v1alpha1.DigestStatus, now time.Time, err error) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: j.written.Generation}
	s.ObservedGeneration, s.NextScheduleTime = j.written.Generation, nil
	switch {
	case j.digest == nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, Invalid, strings.Join(policy.Lines(j.problems), "; ")
	case j.digest.Spec.Suspend:
		ready.Reason, ready.Message = Suspended, "suspended: no digest is sent; to resume, set spec.suspend to false"
	default:
		s.NextScheduleTime = &metav1.Time{Time: j.digest.Schedule.Next(now).UTC()}
		ready.Reason, ready.Message = Scheduled, "the next digest is sent at nextScheduleTime"
		if err != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, NotAccepted, err.Error()+"; Sunset retries"
		}
	}
	ready.Message = policy.Shorten(ready.Message, policy.MaxConditionMessage)
	ready.LastTransitionTime = metav1.Time{Time: now.UTC().Truncate(time.Second)}
	meta.SetStatusCondition(&s.Conditions, ready)
}

// write writes a status that differs from the one that the cache has.
func (n *Notifier) write(ctx context.Context, j *job) error {
	if equality.Semantic.DeepEqual(j.status, j.written.Status) {
		return nil
	}
	if err := n.Leadership.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.RetentionDigestKind.Kind,
		"metadata": map[string]any{"name": j.written.Name, "uid": j.written.UID}, "status": j.status,
	})
	if err != nil {
		return err
	}
	target := &v1alpha1.RetentionDigest{}
	target.Name = j.written.Name
	err = n.Client.Status().Patch(ctx, target, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner("sunset-controller"), client.ForceOwnership)
	if err != nil {
		log.FromContext(ctx).Error(err, "status of digest not written", "digest", j.written.Name)
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

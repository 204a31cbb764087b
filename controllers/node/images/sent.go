// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// sentRemoval is a removal that was sent.
type sentRemoval struct {
	retention.Removal // At is when it was sent, or when the request ended
	Summary
	unanswered bool // the request ended without an answer: the removal may have succeeded, or may still succeed
}

const (
	// answeredFor is how long the Node remembers a removal: until all decisions take its result into account.
	answeredFor = time.Minute
	// unansweredFor is how long a removal without an answer may still succeed. If the image disappears later, another client has
	// removed it.
	unansweredFor = 10 * time.Minute
)

// sentBy returns the removal of an image by a permit.
func sentBy(w policy.DeletePermit, i *image) sentRemoval {
	return sentRemoval{
		Removal: retention.Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: w.Reason(), Outcome: w.Intent().Outcome, Due: w.Due(),
		},
		Summary: summaryOf(i),
	}
}

// remember records a removal as it is now, and returns the earlier removal of the same image that it replaces; zero for none.
func (n *Node) remember(s sentRemoval) (earlier sentRemoval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	earlier, s.At = n.sent[s.Subject.Name], n.Clock.Now()
	n.sent[s.Subject.Name] = s
	return earlier
}

// restore records the earlier removal of an image again; zero for none.
func (n *Node) restore(id string, earlier sentRemoval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sent[id] = earlier; earlier.At.IsZero() {
		delete(n.sent, id)
	}
}

// late returns the removals without an answer whose images are no longer in a snapshot, each once. It forgets old removals.
func (n *Node) late(l *snapshot) (late []retention.Removal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.Clock.Now()
	for id, s := range n.sent {
		switch age := now.Sub(s.At); {
		case age > unansweredFor, age > answeredFor && !s.unanswered:
			delete(n.sent, id)
		case s.unanswered && l.byID[id] == nil:
			s.unanswered = false
			n.sent[id] = s
			s.At = now
			late = append(late, s.Removal)
		}
	}
	return late
}

// settle counts removals that had no answer, once a snapshot shows that their images are gone.
func (n *Node) settle(ctx context.Context, l *snapshot) {
	for _, r := range n.late(l) {
		log.FromContext(ctx).V(1).Info("image removed after a request without an answer", "name", r.Subject.Name, "rule", r.Rule.ID.String(), "due", r.Due)
		n.History.Removed(r.Subject.Name, n.Readings())
		if n.Late != nil {
			n.Late(r)
		}
	}
}

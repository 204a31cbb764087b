// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// unacknowledged holds the removals that were sent and have no answer: they may have succeeded, or may still succeed. The zero
// value is empty.
type unacknowledged struct {
	mu  sync.Mutex
	all map[string]sent // by ID of the image
}

// sent is one such removal.
type sent struct {
	removal retention.Removal
	until   time.Time // when it can no longer succeed
}

// unacknowledgedFor is how long a removal without an answer may still succeed. If the image disappears later, another client has
// removed it.
const unacknowledgedFor = 10 * time.Minute

func (u *unacknowledged) put(s sent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]sent{}
	}
	u.all[s.removal.Subject.Name] = s
}

// take removes and returns the entry of an image whose removal is retried.
func (u *unacknowledged) take(id string) (s sent, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, ok = u.all[id]
	delete(u.all, id)
	return s, ok
}

// ended removes and returns the entries whose images are no longer in a snapshot. It also drops entries that can no longer
// succeed.
func (u *unacknowledged) ended(l *snapshot, now time.Time) []sent {
	u.mu.Lock()
	defer u.mu.Unlock()
	var gone []sent
	for id, s := range u.all {
		switch {
		case now.After(s.until):
		case l.byID[id] == nil:
			gone = append(gone, s)
		default:
			continue
		}
		delete(u.all, id)
	}
	return gone
}

// sentFor returns the entry for a permit whose removal had no answer.
func (n *Node) sentFor(w policy.DeletePermit) sent {
	now := n.Clock.Now()
	return sent{
		removal: retention.Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: w.Reason(), Outcome: w.Intent().Outcome, Due: w.Due(), At: now,
		},
		until: now.Add(unacknowledgedFor),
	}
}

// settle counts removals that had no answer, once a snapshot shows that their images are gone.
func (n *Node) settle(ctx context.Context, l *snapshot) {
	for _, s := range n.unacknowledged.ended(l, n.Clock.Now()) {
		r := s.removal
		r.At = n.Clock.Now()
		log.FromContext(ctx).V(1).Info("image removed after a request without an answer", "name", r.Subject.Name, "rule", r.Rule.ID.String(), "due", r.Due)
		n.History.Removed(r.Subject.Name, n.Readings())
		if n.Late != nil {
			n.Late(r)
		}
	}
}

package images

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// unacknowledged are the removals that were sent and not answered: they may have happened, or still happen. The zero value has none.
type unacknowledged struct {
	mu  sync.Mutex
	all map[string]sent // by ID of the image
}

// sent is one of them.
type sent struct {
	removal retention.Removal
	until   time.Time // it may still happen
}

// unsureFor is how long a removal may still happen. Whatever takes an image away later is somebody else.
const unsureFor = 10 * time.Minute

func (u *unacknowledged) put(s sent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]sent{}
	}
	u.all[s.removal.Subject.Name] = s
}

// take gives the one of an image to whoever tries again.
func (u *unacknowledged) take(id string) (s sent, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, ok = u.all[id]
	delete(u.all, id)
	return s, ok
}

// ended gives those whose image a look does not show any more, each once, and forgets those that do not happen any more.
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

// sentFor is what carrying a permit out came to that was not answered.
func (n *Node) sentFor(w policy.DeletePermit) sent {
	now := n.Clock.Now()
	return sent{
		removal: retention.Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: w.Reason(), Outcome: w.Intent().Outcome, Due: w.Due(), At: now,
		},
		until: now.Add(unsureFor),
	}
}

// settle counts what was removed without an answer, once a look shows that it is gone.
func (n *Node) settle(ctx context.Context, l *snapshot) {
	for _, s := range n.unsure.ended(l, n.Clock.Now()) {
		r := s.removal
		r.At = n.Clock.Now()
		log.FromContext(ctx).V(1).Info("deleted after all", "name", r.Subject.Name, "rule", r.Rule.ID.String(), "due", r.Due)
		n.History.Removed(r.Subject.Name, []string{n.Summary(r.Subject.Name).Name}, n.Readings())
		if n.Late != nil {
			n.Late(r)
		}
	}
}

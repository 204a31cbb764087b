package retention

import (
	"sync"
	"time"
)

const (
	retryFirst   = 100 * time.Millisecond
	retryChanged = time.Second      // at most, for a subject that keeps changing
	retryBusy    = 30 * time.Second // at most, while the other side is busy or silent
	retryRefused = 10 * time.Minute // at most, for a subject that is refused
	retryGone    = 5 * time.Second  // at first, for a subject that is said to be gone and is still known
	rereadAfter  = 3                // conflicts in a row after which the watch is not waited for
	deniedRetry  = 5 * time.Second  // between two attempts in a namespace where the right to delete is missing
)

// tries remembers the subjects that have been tried in vain.
type tries struct {
	mu     sync.Mutex
	failed map[item]try
}

// try is how often a subject was tried in a row, with the same result.
type try struct {
	result  Result
	count   int
	version string // of the subject
	same    bool   // it was the same version as the time before
}

func newTries() *tries { return &tries{failed: map[item]try{}} }

// again counts an attempt that did not remove the subject, and gives how long to wait before the next.
func (t *tries) again(it item, version string, result Result) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.failed[it]
	if last.result != result {
		last = try{result: result}
	}
	last.same = last.version == version
	last.count, last.version = last.count+1, version
	t.failed[it] = last
	return backoff(last)
}

func backoff(t try) time.Duration {
	first, most := retryFirst, retryBusy
	switch {
	case t.result == Gone:
		first, most = retryGone, retryRefused
	case t.result == Changed && !t.same:
		most = retryChanged
	case t.result == Changed, t.result == Refused:
		most = retryRefused // a conflict without a change is a refusal
	case t.result == Denied:
		return deniedRetry
	}
	if t.count > 20 {
		return most
	}
	return min(most, first<<(t.count-1))
}

// contested reports whether a subject has changed under so many attempts that the watch should not be waited for.
func (t *tries) contested(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.failed[it]
	return last.result == Changed && last.count >= rereadAfter
}

// saidGone reports whether the last attempt found a subject gone.
func (t *tries) saidGone(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed[it].result == Gone
}

// has reports whether a subject was tried in vain.
func (t *tries) has(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, failed := t.failed[it]
	return failed
}

// forget ends the counting for a subject.
func (t *tries) forget(it item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, it)
}

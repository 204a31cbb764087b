// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"sync"
	"time"
)

const (
	retryFirst   = 100 * time.Millisecond
	retryChanged = time.Second      // limit for a subject that keeps changing
	retryBusy    = 30 * time.Second // limit while the API server is busy or does not answer
	retryRefused = 10 * time.Minute // limit for a subject that is refused
	retryGone    = 5 * time.Second  // first pause for a subject that a request did not find and that the watch still has
	retryLater   = 5 * time.Second  // pause while the ledger of a policy is not open, or no watch can be opened
	rereadAfter  = 3                // conflicts in a row after which the subject is read live
	deniedRetry  = 5 * time.Second  // pause between two attempts in a namespace where the permission to delete is missing
)

// backoffs remembers the subjects whose attempts have failed.
type backoffs struct {
	mu     sync.Mutex
	failed map[item]failures
}

// failures counts the attempts in a row that had the same result for a subject.
type failures struct {
	result  Result
	count   int
	version string // of the subject
	same    bool   // the last two attempts were about the same version
}

func newBackoffs() *backoffs { return &backoffs{failed: map[item]failures{}} }

// again counts an attempt that did not delete the subject, and returns the pause before the next one.
func (t *backoffs) again(it item, version string, result Result) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.failed[it]
	if last.result != result {
		last = failures{result: result}
	}
	last.same = last.version == version
	last.count, last.version = last.count+1, version
	t.failed[it] = last
	return backoff(last)
}

func backoff(t failures) time.Duration {
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

// contested reports whether so many attempts in a row had a conflict that the subject should be read live.
func (t *backoffs) contested(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.failed[it]
	return last.result == Changed && last.count >= rereadAfter
}

// saidGone reports whether the last attempt did not find the subject.
func (t *backoffs) saidGone(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed[it].result == Gone
}

// has reports whether an attempt has failed for a subject.
func (t *backoffs) has(it item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, failed := t.failed[it]
	return failed
}

// forget removes the failures of a subject.
func (t *backoffs) forget(it item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, it)
}

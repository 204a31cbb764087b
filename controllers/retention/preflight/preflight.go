// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/policy"
)

// MaxAge is how old an answer may be when a request that depends on it is sent. The age counts from when the answer came or, if only
// that is known, from when it was requested.
const MaxAge = policy.SendTime

// ErrNamespace is wrapped by an error of Live.Check that concerns only one namespace: deletions in others continue.
var ErrNamespace = errors.New("namespace check failed")

// ErrPermission is wrapped by an error of Live.Permit and Live.PermitOwner if a permission is missing.
var ErrPermission = errors.New("missing permission")

// Fresh reports whether an answer that came at since still counts now. The zero time never does.
func Fresh(now, since time.Time) bool {
	return !since.IsZero() && lease.Elapsed(now, since) <= MaxAge
}

// Live checks conditions that no cache can answer. It is safe for concurrent use.
type Live interface {
	// Check returns no error if subjects of the namespace ("" for cluster-scoped ones) may be deleted now, and the time of
	// the oldest answer that this depends on. It may first put newer rules in force. The error says what is unknown or
	// forbids deletions.
	Check(ctx context.Context, namespace string) (since time.Time, err error)
	// Prefetch reads in advance what Check will need for the namespace at a time soon, so that deletions need not wait for
	// it. It reports no errors: the next Check does.
	Prefetch(ctx context.Context, namespace string, at time.Time)
	// Permit returns no error if a rule has the permissions that it needs, and since when the answer counts. A rule of a
	// RetentionPolicy needs the permissions of its ServiceAccount. The error says what is missing.
	Permit(ctx context.Context, rule *policy.Rule) (since time.Time, err error)
	// PermitOwner returns no error if a rule has the permission to delete owners of this kind, and since when the answer counts. It is called
	// before the owner is read.
	PermitOwner(ctx context.Context, rule *policy.Rule, owner *policy.Owner) (since time.Time, err error)
}

// Precondition is one check that may take a while. It returns when its answer came. If it fails, it returns a function that
// has the subject retried. Several preconditions of one attempt may be checked at the same time.
type Precondition func(context.Context) (since time.Time, failed func())

// Check checks the preconditions whose answers, by since, are too old. It checks one after the other and stops at the first
// failure, or, if together is true, all at the same time, so that no answer gets too old while another is awaited. It sets
// since, and returns the first failure; nil for none.
func Check(ctx context.Context, now func() time.Time, all []Precondition, since []time.Time, together bool) (failed func()) {
	failures := make([]func(), len(all))
	var group sync.WaitGroup
	for i, check := range all {
		if Fresh(now(), since[i]) {
			continue
		}
		if together {
			group.Go(func() { since[i], failures[i] = check(ctx) })
		} else if since[i], failures[i] = check(ctx); failures[i] != nil {
			return failures[i]
		}
	}
	group.Wait()
	for _, failed := range failures {
		if failed != nil {
			return failed
		}
	}
	return nil
}

// Oldest returns the earliest of some times; zero if one of them is zero.
func Oldest(since ...time.Time) time.Time { return slices.MinFunc(since, time.Time.Compare) }

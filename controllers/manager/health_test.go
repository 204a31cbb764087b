// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/test/bubble"
)

// elected is a lock that this process holds after its first write.
type elected struct{ resourcelock.Interface }

func (elected) Identity() string { return "me" }
func (elected) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return nil
}

func TestReadiness(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	lock := func(leads bool) *lease.TrackedLock {
		l := lease.Watch(elected{}, clock.RealClock{}, time.Minute)
		if leads {
			_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
		}
		return l
	}
	for name, test := range map[string]struct {
		is   readiness
		want error
	}{
		"not synced":                        {readiness{no, lock(false), no, no}, errUnsynced},
		"standby":                           {readiness{yes, lock(false), no, no}, nil},
		"leader, policies not read":         {readiness{yes, lock(true), no, no}, errNotTaken},
		"leader, ledgers not read":          {readiness{yes, lock(true), yes, no}, errNotBegun},
		"leader":                            {readiness{yes, lock(true), yes, yes}, nil},
		"without election, policies unread": {readiness{yes, nil, no, no}, errNotTaken},
		"without election":                  {readiness{yes, nil, yes, yes}, nil},
		"leader, not synced":                {readiness{no, lock(true), yes, yes}, errUnsynced},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.is.check(nil); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// known is a cache whose first attempts to watch a kind fail.
type known struct {
	cache.Cache
	failing int
}

func (k *known) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	if k.failing--; k.failing >= 0 {
		return nil, errors.New("the cluster has no such kind")
	}
	return nil, nil
}

func TestCachesRetryUntilSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &caches{of: &known{failing: 2}, clock: clock.RealClock{}}
		go func() { _ = c.Start(t.Context()) }()
		bubble.Pass(cachesAgain + time.Second)
		if c.synced.Load() {
			t.Error("synced while a kind cannot be watched")
		}
		bubble.Pass(cachesAgain)
		if !c.synced.Load() {
			t.Error("not synced when all kinds can be watched")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &caches{of: &known{failing: 99}, clock: clock.RealClock{}}
	if err := c.Start(ctx); err != nil || c.synced.Load() {
		t.Errorf("after the end of ctx: error %v, synced %t", err, c.synced.Load())
	}
}

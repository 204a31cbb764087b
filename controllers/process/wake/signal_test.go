// SPDX-License-Identifier: Apache-2.0

package wake_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestSendBeforeWaitCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s wake.Signal
		began := time.Now()
		s.Send()
		s.Send()
		expect.Equal(t, "goes on", true, s.Wait(t.Context(), clock.RealClock{}, time.Hour))
		expect.Equal(t, "waited", 0, time.Since(began))
		expect.Equal(t, "goes on", true, s.Wait(t.Context(), clock.RealClock{}, time.Hour))
		expect.Equal(t, "waited", time.Hour, time.Since(began))
	})
}

func TestSendEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s wake.Signal
		began := time.Now()
		time.AfterFunc(time.Second, s.Send)
		expect.Equal(t, "goes on", true, s.Wait(t.Context(), clock.RealClock{}, time.Hour))
		expect.Equal(t, "waited", time.Second, time.Since(began))
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var s wake.Signal
	expect.Equal(t, "goes on", false, s.Wait(ctx, clock.RealClock{}, time.Hour))
	s.Send()
	expect.Equal(t, "goes on after Send", false, s.Wait(ctx, clock.RealClock{}, time.Hour))
}

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		wake.Sleep(t.Context(), clock.RealClock{}, time.Hour)
		expect.Equal(t, "slept", time.Hour, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		wake.Sleep(ctx, clock.RealClock{}, time.Hour)
		expect.Equal(t, "slept until its context ended", time.Hour+time.Minute, time.Since(began))
	})
}

func TestBroadcastWakesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b wake.Broadcast
		b.Send() // no goroutine waits
		var woken atomic.Int32
		for range 3 {
			c := b.C()
			go func() {
				<-c
				woken.Add(1)
			}()
		}
		synctest.Wait()
		expect.Equal(t, "woken before Send", 0, woken.Load())
		b.Send()
		synctest.Wait()
		expect.Equal(t, "woken", 3, woken.Load())
		select {
		case <-b.C():
			t.Error("a channel from after Send is closed")
		default:
		}
	})
}

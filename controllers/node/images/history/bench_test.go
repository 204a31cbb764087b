// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

func BenchmarkObserve2000(b *testing.B) {
	h, seen := history.New(gap), many(2000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Observe(reading(time.Duration(i)*interval), seen)
	}
}

func BenchmarkSave2000(b *testing.B) {
	s, seen := open(b, b.TempDir(), reading(0)), many(2000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		at := reading(time.Duration(i) * interval)
		s.Observe(at, seen)
		b.StartTimer()
		expect.NoError(b, s.Save(at))
	}
}

func BenchmarkOpen2000(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, reading(0))
	s.Observe(reading(0), many(2000))
	shut(b, s)
	for b.Loop() {
		shut(b, open(b, dir, reading(0)))
	}
}

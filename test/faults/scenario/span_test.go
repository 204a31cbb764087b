// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

func at(second int) time.Time { return time.Unix(int64(second), 0) }

func TestGaps(t *testing.T) {
	whole := span{From: at(0), To: at(100)}
	for name, test := range map[string]struct{ covered, want []span }{
		"no spans":                      {nil, []span{whole}},
		"one span covers all":           {[]span{{From: at(-1), To: at(101)}}, nil},
		"one before the other":          {[]span{{From: at(50), To: at(60)}, {From: at(10), To: at(20)}}, []span{{From: at(0), To: at(10)}, {From: at(20), To: at(50)}, {From: at(60), To: at(100)}}},
		"two spans overlap":             {[]span{{From: at(0), To: at(60)}, {From: at(30), To: at(40)}}, []span{{From: at(60), To: at(100)}}},
		"one span starts after the end": {[]span{{From: at(0), To: at(60)}, {From: at(200), To: at(240)}}, []span{{From: at(60), To: at(100)}}},
		"one span ends after the end":   {[]span{{From: at(10), To: at(101)}}, []span{{From: at(0), To: at(10)}}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "gaps", test.want, gaps(whole, test.covered))
		})
	}
}

func TestChained(t *testing.T) {
	moments := []time.Time{at(0), at(2), at(4), at(20), at(40), at(43), at(46), at(49)}
	want := []span{{From: at(3), To: at(4)}, {From: at(43), To: at(49)}}
	expect.Equal(t, "spans", want, chained(moments, 4*time.Second, 3*time.Second))
}

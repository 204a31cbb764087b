// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// manyWindows are sets of 16 windows, as overrides of a team may have them.
func manyWindows(sets int, of func(set, i int) v1alpha1.Window) []*policy.Windows {
	all := make([]*policy.Windows, sets)
	for set := range all {
		list := make([]v1alpha1.Window, 16)
		for i := range list {
			list[i] = of(set, i)
		}
		all[set] = loadedWindows(list...)
	}
	return all
}

// BenchmarkWindows decides about subjects that become due in the same week, by a rule with several sets of windows.
func BenchmarkWindows(b *testing.B) {
	for name, of := range map[string]func(set, i int) v1alpha1.Window{
		"AlwaysOpen": func(set, i int) v1alpha1.Window { return window(fmt.Sprintf("%d * * * *", (set+i*4)%60), "2h") },
		"Overlap": func(set, i int) v1alpha1.Window {
			return window(fmt.Sprintf("%d %d * * *", set%60, (i*40/60)%24), "2h")
		},
		"Yearly": func(set, i int) v1alpha1.Window { return window(fmt.Sprintf("0 %d %d 2 *", i, 1+set%28), "30d") },
		"NeverTogether": func(set, i int) v1alpha1.Window {
			return window(fmt.Sprintf("%d %d * * *", i*2, set%24), "1m")
		},
	} {
		for _, sets := range []int{1, 9, 65} {
			b.Run(fmt.Sprintf("%s/%d", name, sets), func(b *testing.B) {
				rule := open(manyWindows(sets, of)...)
				for i := 0; b.Loop(); i++ {
					due := now.Add(time.Duration(i%(7*24*60)) * time.Minute)
					policy.Decide(policy.Subject{}, evaluations(says("a", rule, startsAt(due))), now)
				}
			})
		}
	}
}

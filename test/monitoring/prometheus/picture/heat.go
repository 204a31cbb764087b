// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// heat draws the number of observations in each bucket of a histogram at each step; more are darker.
func heat(s *svg, f *film, lines []line, in box) {
	plot := box{in.x + axis, in.y, in.w - axis, in.h - legend}
	lines = slices.Clone(lines)
	bound := func(l line) float64 {
		le, err := strconv.ParseFloat(l.labels.Get("le"), 64)
		if err != nil {
			return math.Inf(1)
		}
		return le
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(bound(a), bound(b)) })
	most := 0.0
	count := func(i, at int) float64 {
		n := lines[i].at[at]
		if i > 0 {
			n -= lines[i-1].at[at] // observations within smaller bounds
		}
		return math.Max(0, n)
	}
	for i := range lines {
		for at := range f.steps() {
			most = math.Max(most, count(i, at))
		}
	}
	high, wide := plot.h/float64(len(lines)), plot.w/float64(f.steps())
	for i, l := range lines {
		y := plot.y + plot.h - float64(i+1)*high
		for at := range f.steps() {
			if n := count(i, at); n > 0 {
				dark := 0.15 + 0.85*math.Log1p(n)/math.Log1p(most)
				s.rect(box{plot.x + float64(at)*wide, y, wide, high}, fmt.Sprintf(`fill="#B0321B" fill-opacity="%.2f"`, dark))
			}
		}
		if i%2 == 0 || len(lines) < 10 {
			name := "more"
			if le := bound(l); !math.IsInf(le, 1) {
				name = seconds(le)
			}
			s.text(plot.x-5, y+high/2+3, right, name)
		}
	}
	times(s, f, plot)
	s.text(in.x, in.y+in.h-4, weak, "darkest: "+format(math.Round(most), "short"))
}

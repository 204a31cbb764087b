// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// stat draws one large number, in the colour of its threshold.
func stat(s *svg, f *film, p panel, lines []line, in box) {
	text, colour := p.FieldConfig.Defaults.NoValue, named16["text"]
	if len(lines) > 0 {
		if v, ok := f.last(lines[0]); ok && v == v { // not NaN
			text = format(v, p.FieldConfig.Defaults.Unit)
			for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
				if step.Value == nil || v >= *step.Value {
					colour = named16[step.Color]
				}
			}
		}
	}
	s.text(in.x+in.w/2, in.y+in.h/2+12, fmt.Sprintf(`text-anchor="middle" style="font-size:30px;fill:%s"`, colour), text)
}

// table draws the labels of the series at the end of the film.
func table(s *svg, f *film, lines []line, in box) {
	columns := []string{}
	lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool { v, ok := f.last(l); return !ok || v == 0 })
	for _, l := range lines {
		l.labels.Range(func(of labels.Label) {
			if !slices.Contains(columns, of.Name) {
				columns = append(columns, of.Name)
			}
		})
	}
	slices.Sort(columns)
	for i, name := range columns {
		x := in.x + float64(i)*in.w/float64(len(columns))
		s.text(x, in.y+10, weak, name)
		for j, l := range lines {
			y := in.y + 30 + float64(j)*18
			if y < in.y+in.h {
				s.text(x, y, "", l.labels.Get(name))
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	axis   = 52.0 // width of the axis with values
	legend = 34.0 // height of the legend and the times
)

// chart draws lines, or stacked areas.
func chart(s *svg, f *film, p panel, lines []line, in box) {
	plot := box{in.x + axis, in.y, in.w - axis, in.h - legend}
	unit, stacked := p.FieldConfig.Defaults.Unit, p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	below := make([]float64, f.steps())
	drawn := make([][]float64, len(lines))
	top := 0.0
	for i, l := range lines {
		drawn[i] = make([]float64, f.steps())
		for at := range drawn[i] {
			v, ok := l.at[at]
			if !ok || math.IsNaN(v) {
				if v = math.NaN(); stacked {
					v = 0
				}
			}
			if stacked {
				v += below[at]
				below[at] = v
			}
			drawn[i][at] = v
			if v > top {
				top = v
			}
		}
	}
	if top == 0 {
		top = 1
	}
	step := nice(top, 4)
	top = math.Ceil(top/step-1e-9) * step
	grid(s, f, plot, top, step, unit)
	for i := len(drawn) - 1; i >= 0; i-- {
		fill := ".1"
		switch {
		case stacked:
			fill = ".35"
		case len(drawn) > 4: // they would cover each other
			fill = "0"
		}
		area(s, plot, drawn[i], top, palette[i%len(palette)], fill)
	}
	names(s, lines, in)
}

// grid draws the grid behind a chart, with values and times.
func grid(s *svg, f *film, plot box, top, step float64, unit string) {
	for v := 0.0; v <= top+step/2; v += step {
		y := plot.y + plot.h - plot.h*v/top
		s.path(fmt.Sprintf("M%s %sh%s", short(plot.x), short(y), short(plot.w)), `stroke="#ececee"`)
		s.text(plot.x-5, y+3, right, format(v, unit))
	}
	times(s, f, plot)
}

func times(s *svg, f *film, plot box) {
	whole := f.to.Sub(f.from)
	every := time.Duration(math.Max(1, math.Round(whole.Minutes()/4))) * time.Minute
	for since := time.Duration(0); since <= whole; since += every {
		s.text(plot.x+plot.w*float64(since)/float64(whole), plot.y+plot.h+13, middle, minutes(since))
	}
}

// area draws a line and the area below it. It is interrupted where there is no value.
func area(s *svg, plot box, values []float64, top float64, colour, fill string) {
	var line, below strings.Builder
	down := short(plot.y + plot.h)
	begun := ""
	end := ""
	finish := func() {
		if begun != "" {
			fmt.Fprintf(&below, "L%s %sL%s %sZ", end, down, begun, down)
			begun = ""
		}
	}
	for i, v := range values {
		if math.IsNaN(v) {
			finish()
			continue
		}
		x := short(plot.x + plot.w*float64(i)/float64(max(1, len(values)-1)))
		y := short(plot.y + plot.h - plot.h*v/top)
		command := "L"
		if begun == "" {
			command, begun = "M", x
		}
		fmt.Fprintf(&line, "%s%s %s", command, x, y)
		fmt.Fprintf(&below, "%s%s %s", command, x, y)
		end = x
	}
	finish()
	if fill != "0" {
		s.path(below.String(), fmt.Sprintf(`fill="%s" fill-opacity="%s"`, colour, fill))
	}
	s.path(line.String(), fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.3"`, colour))
}

// names draws the legend, with as many lines as fit.
func names(s *svg, lines []line, in box) {
	const letter = 5.4
	x, y := in.x, in.y+in.h-4
	for i, l := range lines {
		name := []rune(l.name)
		if room := int((in.w - 90) / letter); i == 0 && len(name) > room {
			name = append(name[:room], '…')
		}
		width := 18 + letter*float64(len(name))
		if i > 0 && i < len(lines)-1 && x+width+60 > in.x+in.w || x+width > in.x+in.w {
			s.text(x, y, weak, fmt.Sprintf("and %d more", len(lines)-i))
			return
		}
		s.rect(box{x, y - 5, 10, 3}, fmt.Sprintf(`fill="%s"`, palette[i%len(palette)]))
		s.text(x+13, y, weak, string(name))
		x += width + 4
	}
}

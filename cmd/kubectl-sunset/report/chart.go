// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
)

// Chart shows numbers as bars of several colors.
type Chart struct {
	Label string // what the bars show, in a sentence
	Bars  []Bar
	Marks []Mark

	height int
}

// Bar is a part of a bar of one color.
type Bar struct {
	Color               int
	X, Y, Width, Height int
	Title               string
}

// Mark is text at an axis.
type Mark struct {
	X, Y int
	Text string
}

const (
	chartWidth  = 960
	chartHeight = 200
	axisWidth   = 40
	axisHeight  = 20
	markedBars  = 5 // the first of so many bars has a mark
	colors      = 6 // the last is for all other groups
)

const (
	rankedBars  = 8   // of a ranking; the last is for all other groups
	rankedWidth = 420 // of the names beside the bars: 63 characters, as many as the name of a namespace has
	numberWidth = 60
)

// Width returns the width of the chart in its own units.
func (Chart) Width() int { return chartWidth }

// Height returns the height of the chart in its own units.
func (c Chart) Height() int { return c.height }

// color returns the color of a group.
func color(group int) int { return min(group, colors-1) }

// Days is a group with a number for each bar of a chart.
type Days struct {
	Name    string
	Numbers []int
}

// NewChart returns a chart with a bar for each label, such as a day. Each of the first groups has a color of its own.
func NewChart(label string, labels []string, groups []Days) *Chart {
	c := &Chart{Label: label, height: chartHeight}
	tallest := 1
	for bar := range labels {
		tallest = max(tallest, total(groups, bar))
	}
	step := (chartWidth - axisWidth) / len(labels)
	for bar, name := range labels {
		x := axisWidth + bar*step
		c.stack(groups, bar, tallest, Bar{X: x, Width: step - 2, Title: name})
		if bar%markedBars == 0 {
			c.Marks = append(c.Marks, Mark{x, chartHeight - 4, name})
		}
	}
	c.Marks = append(c.Marks, Mark{0, 12, fmt.Sprint(tallest)}, Mark{0, chartHeight - axisHeight, "0"})
	return c
}

func total(groups []Days, bar int) int {
	n := 0
	for _, g := range groups {
		n += g.Numbers[bar]
	}
	return n
}

// NewRanking returns a chart with a horizontal bar for each group, from above. The last groups are one bar.
func NewRanking(label string, names []string, numbers []int) *Chart {
	c := &Chart{Label: label}
	if others := len(names) - rankedBars + 1; others > 1 {
		rest := 0
		for _, n := range numbers[rankedBars-1:] {
			rest += n
		}
		names = append(slices.Clone(names[:rankedBars-1]), fmt.Sprintf("%d others", others))
		numbers = append(slices.Clone(numbers[:rankedBars-1]), rest)
	}
	const step, most = 22, chartWidth - rankedWidth - numberWidth
	c.height = len(names) * step
	for i, name := range names {
		width := max(numbers[i]*most/max(slices.Max(numbers), 1), 1)
		c.Bars = append(c.Bars, Bar{color(i), rankedWidth, i * step, width, step - 4, fmt.Sprintf("%s: %d", name, numbers[i])})
		c.Marks = append(c.Marks, Mark{0, i*step + 15, name}, Mark{rankedWidth + width + 6, i*step + 15, fmt.Sprint(numbers[i])})
	}
	return c
}

// stack adds the parts of one bar, from below. The groups of the last color are one part.
func (c *Chart) stack(groups []Days, bar, tallest int, at Bar) {
	const space = chartHeight - axisHeight
	below := 0
	for color := range min(colors, len(groups)) {
		of, name := groups[color:color+1], groups[color].Name
		if color == colors-1 && len(groups) > colors {
			of = groups[color:]
			name = fmt.Sprintf("%d others", len(of))
		}
		n := total(of, bar)
		if n == 0 {
			continue
		}
		part := at
		part.Color, part.Title = color, fmt.Sprintf("%s, %s: %d", at.Title, name, n)
		part.Height = max((below+n)*space/tallest-below*space/tallest, 1)
		part.Y = space - below*space/tallest - part.Height
		c.Bars = append(c.Bars, part)
		below += n
	}
}

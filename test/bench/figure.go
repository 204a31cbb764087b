// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"text/template"
)

// The size of a panel of the figure, and the distance between two. The template has the same sizes.
const (
	panelWidth, panelHeight = 190.0, 110.0
	panelX, panelY          = 240.0, 190.0
)

// panel is one curve. Both axes are logarithmic.
type panel struct {
	X, Y         float64
	Title, Below string
	Dots         []dot
}

// dot is one value in a panel.
type dot struct {
	X, Y      float64
	At, Value string
}

// figure draws the curves as an SVG for light and dark pages.
func (c curves) figure() ([]byte, error) {
	objects, policies := func(p point) int { return p.Objects }, func(p point) int { return p.Policies }
	var panels []panel
	for row, by := range []struct {
		points []point
		n      func(point) int
		below  string
	}{{c.Objects, objects, "objects, with 1 policy"}, {c.Policies, policies, fmt.Sprintf("policies, with %d objects", c.Policies[0].Objects)}} {
		for column, what := range []struct {
			name  string
			value func(point) float64
		}{
			{"memory, MB", func(p point) float64 { return float64(p.Resident) / (1 << 20) }},
			{"time to count, s", func(p point) float64 { return p.Counted }},
			{"CPU for a change, ms", func(p point) float64 { return p.Change }},
		} {
			next := panel{X: 40 + panelX*float64(column), Y: 40 + panelY*float64(row), Title: what.name, Below: by.below}
			for _, p := range by.points {
				next.Dots = append(next.Dots, dot{X: float64(by.n(p)), Y: what.value(p), At: fmt.Sprint(by.n(p)), Value: rounded(what.value(p))})
			}
			next.scale()
			panels = append(panels, next)
		}
	}
	var out bytes.Buffer
	err := figureTemplate.Execute(&out, panels)
	return out.Bytes(), err
}

// rounded formats a value with three digits, without an exponent.
func rounded(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // it has just been formatted
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// scale replaces the values by their places in the panel.
func (p *panel) scale() {
	decades := func(of func(dot) float64) (least, most float64) {
		least, most = math.Inf(1), math.Inf(-1)
		for _, d := range p.Dots {
			least, most = min(least, logarithm(of(d))), max(most, logarithm(of(d)))
		}
		return least, max(most, least+1) // at least one decade, so that noise does not look like growth
	}
	x0, x1 := decades(func(d dot) float64 { return d.X })
	y0, y1 := decades(func(d dot) float64 { return d.Y })
	for i, d := range p.Dots {
		p.Dots[i].X = panelWidth * (logarithm(d.X) - x0) / (x1 - x0)
		p.Dots[i].Y = panelHeight * (1 - (logarithm(d.Y)-y0)/(y1-y0))
	}
}

// logarithm of a value that the clock could not measure, because it is too small, is that of a thousandth.
func logarithm(v float64) float64 { return math.Log10(max(v, 0.001)) }

var figureTemplate = template.Must(template.New("figure").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 390" width="740" height="390">
<style>
text { font: 11px Helvetica, Arial, sans-serif; fill: #24292e; text-anchor: middle }
path { stroke: #8c959f; fill: none }
polyline { stroke: #1f60c4; stroke-width: 1.5; fill: none }
circle { fill: #1f60c4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  path { stroke: #6e7681 }
  polyline { stroke: #79b8ff }
  circle { fill: #79b8ff }
}
</style>
{{range .}}<g transform="translate({{.X}} {{.Y}})">
<text x="95" y="-18">{{.Title}}</text><text x="95" y="150">{{.Below}}</text>
<path d="M0 0V118H190"/>
<polyline points="{{range .Dots}}{{printf "%.1f,%.1f " .X .Y}}{{end}}"/>
{{range .Dots}}<circle cx="{{printf "%.1f" .X}}" cy="{{printf "%.1f" .Y}}" r="2.5"/><text x="{{printf "%.1f" .X}}" y="{{printf "%.1f" .Y}}" dy="-6">{{.Value}}</text><text x="{{printf "%.1f" .X}}" y="132">{{.At}}</text>
{{end}}</g>
{{end}}</svg>
`))

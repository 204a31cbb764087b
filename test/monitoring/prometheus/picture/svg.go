// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// svg is a picture under construction.
type svg struct{ strings.Builder }

// box is a part of a picture.
type box struct{ x, y, w, h float64 }

func (s *svg) rect(b box, style string) {
	fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`+"\n", short(b.x), short(b.y), short(b.w), short(b.h), style)
}

func (s *svg) text(x, y float64, style, text string) {
	fmt.Fprintf(s, `<text x="%s" y="%s" %s>%s</text>`+"\n", short(x), short(y), style, html.EscapeString(text))
}

func (s *svg) path(d, style string) { fmt.Fprintf(s, `<path d="%s" %s/>`+"\n", d, style) }

// short formats a coordinate with one decimal place.
func short(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// Colours are Grafana's, on a white background.
var palette = []string{"#73BF69", "#F2CC0C", "#5794F2", "#FF9830", "#F2495C", "#B877D9", "#37872D", "#C4162A", "#1F60C4", "#E0B400"}

var named16 = map[string]string{"green": "#37872D", "orange": "#FA6400", "red": "#C4162A", "text": "#24292e"}

const (
	strong = `class="strong"`
	weak   = `class="weak"`
	right  = `class="weak" text-anchor="end"`
	middle = `class="weak" text-anchor="middle"`
)

const style = `<style>
text { font: 11px Helvetica, Arial, sans-serif; fill: #24292e }
.weak { fill: #6e7075; font-size: 10px }
.strong { font-weight: bold; font-size: 12px }
.row { font-size: 15px }
</style>
`

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// A dashboard has 24 columns.
const (
	column = 50.0
	row    = 28.0
	gap    = 8.0
	footer = 44.0
)

// draw draws a dashboard, with an explanation below it.
func draw(d *dashboard, f *film) (string, error) {
	bottom := 0
	for _, p := range d.Panels {
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
	}
	width, height := 24*column+gap, float64(bottom)*row+footer
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s">`+"\n", short(width), short(height), short(width), short(height))
	s.WriteString(style)
	s.rect(box{0, 0, width, height}, `fill="#f4f5f5"`)
	for _, p := range d.Panels {
		if err := panelOf(s, f, p); err != nil {
			return "", err
		}
	}
	s.text(gap, height-24, weak, "Not a screenshot of Grafana, but drawn from charts/sunset/files/dashboard.json by go run ./picture in test/monitoring/prometheus: "+
		"Prometheus's own engine answers the panels' queries,")
	s.text(gap, height-10, weak, "over "+minutes(f.to.Sub(f.from).Round(time.Minute))+" of what go run ./test/monitoring/record has recorded from a real controller, on a busy machine. "+
		"The cluster had no agents on nodes, storage, digests, archives, errors of records or freezes.")
	s.WriteString("</svg>\n")
	return s.String(), nil
}

func panelOf(s *svg, f *film, p panel) error {
	at := box{float64(p.GridPos.X)*column + gap, float64(p.GridPos.Y)*row + gap, float64(p.GridPos.W)*column - gap, float64(p.GridPos.H)*row - gap}
	if p.Type == "row" {
		s.text(at.x, at.y+15, `class="row"`, p.Title)
		return nil
	}
	s.rect(at, `fill="#fff" stroke="#dcdddf"`)
	s.text(at.x+8, at.y+16, strong, p.Title)
	lines, err := f.lines(p)
	if err != nil {
		return err
	}
	within := box{at.x + 8, at.y + 26, at.w - 16, at.h - 32}
	switch {
	case p.Type == "stat":
		stat(s, f, p, lines, within)
	case p.Type == "table" && len(lines) > 0:
		table(s, f, lines, within)
	case len(lines) == 0:
		s.text(within.x+within.w/2, within.y+within.h/2, middle, "No data")
	case p.Type == "timeseries":
		chart(s, f, p, lines, within)
	case p.Type == "heatmap":
		heat(s, f, lines, within)
	default:
		return fmt.Errorf("panel %s: type %s is not supported", p.Title, p.Type)
	}
	return nil
}

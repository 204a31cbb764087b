// SPDX-License-Identifier: Apache-2.0

// Command picture draws a Grafana dashboard with recorded series: each panel in its place, with the results of its own
// queries from Prometheus's own engine. It replaces no Grafana, and supports only the panels of this dashboard.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/test/monitoring/prometheus/series"
)

func main() {
	dashboard := flag.String("dashboard", "", "file with the dashboard")
	recorded := flag.String("series", "", "file with the series; its first line contains the interval of the values")
	flag.Parse()
	text, err := picture(*dashboard, *recorded)
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func picture(dashboard, recorded string) (string, error) {
	d, err := read(dashboard)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(recorded)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	every, err := time.ParseDuration(strings.TrimPrefix(first, "# every "))
	if err != nil {
		return "", fmt.Errorf("%s: %w", recorded, err)
	}
	stored, err := series.Load(string(text), every)
	if err != nil {
		return "", err
	}
	return draw(d, newFilm(stored, every))
}

// Command picture draws a dashboard for Grafana as it would look by recorded series: each panel in its place, by what Prometheus's own
// engine answers to the panel's own queries. It is no Grafana, and knows the panels that the dashboard has and no others.
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
	recorded := flag.String("series", "", "file with the series, which says in its first line how often there is a value")
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

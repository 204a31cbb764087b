package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// sizes is how much each scenario does.
type sizes struct {
	drain      int // Jobs to drain
	rounds     int // how often
	ttlDefault int // Jobs for the TTL controller as shipped, which deletes ten a second
	ttlTuned   int
	standing   int           // finished Jobs that nothing deletes
	lateness   int           // Jobs that fall due one after the other, 100 a second
	ahead      time.Duration // before the first of them is due, beside the time it takes to create all
	policies   int           // and as many namespaces, for the fences
	kueue      int           // finished Workloads of Kueue
	kueueDue   int           // Jobs of another rule that fall due meanwhile, 10 a second
	idle       time.Duration
	kueueFor   time.Duration // how long Kueue admits Jobs

	completions int // Pods that a Job needs to succeed
	parallelism int // how many of them at a time

	images      int // on a node
	imageRounds int // how often they are removed, bare and by Sunset

	referred  int // ConfigMaps that Pods use
	referring int // these Pods
	spares    int // ConfigMaps that nothing uses
	races     int // ConfigMaps that fall due as a Pod comes
}

var (
	full = sizes{drain: 20_000, rounds: 3, ttlDefault: 600, ttlTuned: 5_000, standing: 100_000, lateness: 3_000, ahead: 10 * time.Second,
		policies: 1_000, idle: 30 * time.Second,
		kueue: 50_000, kueueDue: 300, kueueFor: time.Minute, completions: 10_000, parallelism: 1_000,
		images: 2_000, imageRounds: 3,
		referred: 10_000, referring: 50_000, spares: 400, races: 400}
	short = sizes{drain: 300, rounds: 1, ttlDefault: 30, ttlTuned: 100, standing: 500, lateness: 200, ahead: 5 * time.Second,
		policies: 20, idle: 2 * time.Second,
		kueue: 300, kueueDue: 5, kueueFor: 2 * time.Second, completions: 100, parallelism: 50,
		images: 40, imageRounds: 1,
		referred: 20, referring: 100, spares: 10, races: 5}
)

func main() {
	brief := flag.Bool("short", false, "small sizes: shows that the benchmark works, measures nothing")
	only := flag.String("only", "", "measure only this scenario: cel, ranks, images, drain, ttl, fences, ledger, kueue, standing, pods or references")
	completions := flag.Int("completions", 0, "Pods that the Job of scenario pods needs; 0 is what the size says")
	pprof := flag.String("pprof", "", "address where Sunset serves its profiles meanwhile")
	flags := flag.String("flags", "", "more flags for Sunset, such as --max-in-flight=4, separated by spaces")
	backlog := flag.Int("workloads", 0, "how many finished Workloads the scenario kueue has, if not 50000; creating them takes most of its time")
	atATime := flag.Int("images-at-a-time", agentInFlight, "how many images are removed at a time, bare and by the node agent")
	many := flag.Int("images", 0, "how many images the node of the scenario images has, if not 2000")
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	size := full
	if *brief {
		size = short
	}
	if *completions > 0 {
		size.completions = *completions
	}
	if *backlog > 0 {
		size.kueue = *backlog
	}
	if *many > 0 {
		size.images = *many
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	figures, err := measure(ctx, options{size: size, only: *only, pprof: *pprof, flags: strings.Fields(*flags), atATime: *atATime})
	if err == nil {
		err = figures.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options is what to measure.
type options struct {
	size  sizes
	only  string   // the one scenario to run; empty for all
	pprof string   // where Sunset serves its profiles; empty for nowhere
	flags []string // more flags for Sunset

	atATime int // images removed
}

// agentInFlight is --max-in-flight of the node agent by default.
const agentInFlight = 16

// measure goes through every scenario on one control plane.
func measure(ctx context.Context, o options) (*table, error) {
	lab, err := newLab(ctx, o)
	if err != nil {
		return nil, err
	}
	defer lab.close()
	measured := false
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"cel", lab.cel},
		{"ranks", lab.ranks},
		{"images", lab.images},
		{"drain", lab.drains},
		{"ttl", lab.ttlController},
		{"fences", lab.fences},
		{"ledger", lab.ledger},
		{"kueue", lab.kueue},
		{"standing", lab.standing},
		{"pods", lab.pods},
		{"references", lab.references},
	} {
		if o.only != "" && o.only != s.name {
			continue
		}
		measured = true
		fmt.Fprintf(os.Stderr, "%s %s ...\n", time.Now().Format(time.TimeOnly), s.name)
		if err := s.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !measured {
		return nil, fmt.Errorf("there is no scenario %q", o.only)
	}
	return &lab.table, nil
}

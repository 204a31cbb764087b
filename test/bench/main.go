// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/program"
)

// sizes is how much work each scenario does.
type sizes struct {
	drain      int // Jobs to drain
	rounds     int // how often
	ttlDefault int // Jobs for the TTL controller as shipped, which deletes ten a second
	ttlTuned   int
	standing   int           // finished Jobs that are not due
	lateness   int           // Jobs that become due one after the other, 100 a second
	ahead      time.Duration // from the creation of all until the first is due
	policies   int           // and as many namespaces, in scenario fences
	kueue      int           // finished Workloads of Kueue
	kueueDue   int           // Jobs of another rule that become due during the drain, 10 a second
	kueueAhead time.Duration // before the first of these is due
	idle       time.Duration
	kueueFor   time.Duration // how long Kueue admits Jobs

	completions int // Pods that a Job needs to succeed
	parallelism int // of these Pods at a time

	images      int // on a node
	imageRounds int // how often all are removed, bare and by Sunset

	referred  int // ConfigMaps that Pods use; in scenario graph, apps with seven objects each
	referring int // the Pods that use them
	spares    int // ConfigMaps that nothing uses
	races     int // ConfigMaps that become due when a Pod is created

	archived int // records in scenario archive-search
	searches int // how often each command searches them

	million     int // Jobs in scenario million
	millionDue  int // of these Jobs that are drained
	millionPods int
	namespaces  int           // of these Jobs and Pods
	settled     time.Duration // how long a process must be idle before it is measured
	serverEnv   []string      // environment of API servers with many objects

	growth   []int // numbers of Jobs in scenario growth, with one policy
	policied int   // Jobs there with several policies
	growthBy []int // numbers of these policies
}

var (
	full = sizes{drain: 20_000, rounds: 3, ttlDefault: 600, ttlTuned: 5_000, standing: 100_000, lateness: 3_000, ahead: 10 * time.Second,
		policies: 1_000, idle: 30 * time.Second,
		kueue: 50_000, kueueDue: 300, kueueAhead: 15 * time.Second, kueueFor: time.Minute, completions: 10_000, parallelism: 1_000,
		images: 2_000, imageRounds: 3,
		referred: 10_000, referring: 50_000, spares: 400, races: 400,
		archived: 1_000_000, searches: 3, million: 1_000_000, millionDue: 100_000, millionPods: 200_000, namespaces: 2_000, settled: 5 * time.Second,
		serverEnv: []string{"GOGC=50"}, // a million objects in a watch cache and as much garbage beside them would not fit into 24 GiB
		growth:    []int{1_000, 10_000, 100_000, 1_000_000}, policied: 12_000, growthBy: []int{1, 10, 100, 1_000}}
	short = sizes{drain: 60, rounds: 1, ttlDefault: 20, ttlTuned: 100, standing: 300, lateness: 40, ahead: 5 * time.Second,
		policies: 10, idle: time.Second,
		kueue: 450, kueueDue: 5, kueueAhead: 8 * time.Second, kueueFor: 2 * time.Second, completions: 30, parallelism: 15,
		images: 12, imageRounds: 1,
		referred: 20, referring: 100, spares: 10, races: 5,
		archived: 5_000, searches: 1, million: 2_000, millionDue: 100, millionPods: 200, namespaces: 40, settled: time.Second,
		growth: []int{100, 1_000}, policied: 200, growthBy: []int{1, 10}}
)

func main() {
	brief := flag.Bool("short", false, "use small sizes: checks that the benchmark works; its figures mean nothing")
	only := flag.String("only", "", "measure only these scenarios, separated by commas: "+strings.Join(names(scenarios), ", "))
	completions := flag.Int("completions", 0, "completions of the Job in scenario pods; 0 for the default")
	pprof := flag.String("pprof", "", "address where Sunset serves its profiles during the benchmark")
	flags := flag.String("flags", "", "additional flags for Sunset, such as --max-in-flight=4, separated by spaces")
	backlog := flag.Int("workloads", 0, "finished Workloads in scenario kueue, if not 50000; creating them takes most of its time")
	atATime := flag.Int("images-at-a-time", agentInFlight, "concurrent image removals, bare and by the node agent")
	rounds := flag.Int("rounds", 0, "rounds of each drain of Jobs; 0 for the default")
	many := flag.Int("images", 0, "images on the node in scenario images, if not 2000")
	pin := flag.Bool("pin", false, "run the API server and etcd on processor 0, and everything else on processor 1 (needs taskset)")
	curves := flag.String("growth", "", "where scenario growth writes its results: NAME.json, and NAME.svg, the figure; empty to write nothing")
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
	if *rounds > 0 {
		size.rounds = *rounds
	}
	if *many > 0 {
		size.images = *many
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	figures, err := measure(ctx, options{size: size, only: *only, pprof: *pprof, flags: strings.Fields(*flags), atATime: *atATime, curves: *curves, pin: *pin})
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
	only  string   // the scenarios to run, separated by commas; empty for all
	pprof string   // address where Sunset serves its profiles; empty for none
	flags []string // additional flags for Sunset

	curves string // name of the files with the results of scenario growth; empty for none

	pin bool // whether the API server and etcd have a processor of their own

	atATime int    // concurrent image removals
	sunset  string // path of the controller; empty to build it
}

// agentInFlight is the default of the node agent's flag --max-in-flight.
const agentInFlight = 16

// scenario is something to measure.
type scenario struct {
	name  string
	run   func(*environment, context.Context) error
	apart bool // it starts its own control planes
	alone bool // it needs neither control planes nor the controller; it is apart too
}

// scenarios are in the order in which they are measured.
var scenarios = []scenario{
	{name: "cel", run: (*environment).cel, apart: true, alone: true},
	{name: "ranks", run: (*environment).ranks, apart: true, alone: true},
	{name: imagesName, run: (*environment).images},
	{name: "drain", run: (*environment).drains},
	{name: "ttl", run: (*environment).ttlController},
	{name: "fences", run: (*environment).preflights},
	{name: "ledger", run: (*environment).ledger},
	{name: "archive-drain", run: (*environment).archiveDrain},
	{name: "archive-lateness", run: (*environment).archiveLate},
	{name: "archive-search", run: (*environment).archiveSearch, apart: true, alone: true},
	{name: "kueue", run: (*environment).kueue},
	{name: "standing", run: (*environment).standing},
	{name: "pods", run: (*environment).pods, apart: true},
	{name: "references", run: (*environment).references, apart: true},
	{name: "graph", run: (*environment).graph, apart: true},
	{name: "million", run: (*environment).million, apart: true},
	{name: "growth", run: (*environment).growth, apart: true},
}

func names(of []scenario) (all []string) {
	for _, s := range of {
		all = append(all, s.name)
	}
	return all
}

// chosen returns the scenarios to run.
func (o options) chosen() ([]scenario, error) {
	if o.only == "" {
		return scenarios, nil
	}
	wanted := strings.Split(o.only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(scenarios), name) {
			return nil, fmt.Errorf("scenario %q does not exist", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !slices.Contains(wanted, s.name) }), nil
}

// measure runs scenarios on one control plane, except those that start their own.
func measure(ctx context.Context, o options) (*table, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	if o.sunset == "" && slices.ContainsFunc(chosen, func(s scenario) bool { return !s.alone }) {
		dir, err := os.MkdirTemp("", "sunset-bench-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if o.sunset, err = program.Build(ctx, dir, "sunset-controller"); err != nil {
			return nil, err
		}
	}
	l := &environment{options: o}
	if slices.ContainsFunc(chosen, func(s scenario) bool { return !s.apart }) {
		if l, err = openEnvironment(ctx, o, cluster.Options{Controllers: []string{}}); err != nil {
			return nil, err
		}
	}
	defer l.close()
	for _, s := range chosen {
		fmt.Fprintf(os.Stderr, "%s %s ...\n", time.Now().Format(time.TimeOnly), s.name)
		if err := s.run(l, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return &l.table, nil
}

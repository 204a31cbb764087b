package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sizes is how much each scenario does.
type sizes struct {
	drain      int // Jobs to drain
	ttlDefault int // Jobs for the TTL controller as shipped, which deletes ten a second
	ttlTuned   int
	standing   int // finished Jobs that nothing deletes
	lateness   int // Jobs that fall due one after the other, 100 a second
	policies   int // and as many namespaces, for the fences
	idle       time.Duration
}

var (
	full  = sizes{drain: 20_000, ttlDefault: 600, ttlTuned: 5_000, standing: 100_000, lateness: 3_000, policies: 1_000, idle: 30 * time.Second}
	short = sizes{drain: 300, ttlDefault: 30, ttlTuned: 100, standing: 500, lateness: 200, policies: 20, idle: 2 * time.Second}
)

func main() {
	brief := flag.Bool("short", false, "small sizes: shows that the benchmark works, measures nothing")
	flag.Parse()
	size := full
	if *brief {
		size = short
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	figures, err := measure(ctx, size)
	if err == nil {
		err = figures.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure goes through every scenario on one control plane.
func measure(ctx context.Context, size sizes) (*table, error) {
	lab, err := newLab(ctx, size)
	if err != nil {
		return nil, err
	}
	defer lab.close()
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"CEL", lab.cel},
		{"drain", lab.drains},
		{"TTL controller", lab.ttlController},
		{"fences", lab.fences},
		{"standing", lab.standing},
	} {
		fmt.Fprintf(os.Stderr, "%s %s ...\n", time.Now().Format(time.TimeOnly), s.name)
		if err := s.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return &lab.table, nil
}

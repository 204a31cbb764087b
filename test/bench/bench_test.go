// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
	"github.com/sunset-k8s/sunset/test/program"
)

// quick are the scenarios that always run; the others run with SUNSET_LONG.
var quick = []string{"drain,ledger,archive-drain", "cel,ranks,archive-search"}

// lanes are groups of scenarios that the test runs in parallel, each group on its own control planes: most of the time
// scenarios wait, for example for the end of a quiet period.
var lanes = append(slices.Clone(quick), "ttl,fences,archive-lateness,standing", "kueue,images", "references,graph,growth", "million,pods")

// TestBenchmarkStillWorks runs scenarios with small sizes. It checks no figure, because figures depend on the machine.
func TestBenchmarkStillWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	if err := flag.Set("test.benchtime", "10ms"); err != nil { // for the scenarios without a control plane
		t.Fatal(err)
	}
	ctrllog.SetLogger(logr.Discard())
	sunset, err := program.Build(t.Context(), t.TempDir(), "sunset-controller")
	expect.NoError(t, err)
	chosen := quick
	if long.Enabled() {
		chosen = lanes
	}
	tables, grown := make([]*table, len(chosen)), filepath.Join(t.TempDir(), "growth")
	group, ctx := errgroup.WithContext(t.Context())
	for i, lane := range chosen {
		group.Go(func() (err error) {
			tables[i], err = measure(ctx, options{size: short, only: lane, atATime: agentInFlight, sunset: sunset, curves: grown})
			return err
		})
	}
	expect.NoError(t, group.Wait())
	if long.Enabled() {
		for _, extension := range []string{".json", ".svg"} {
			_, err := os.Stat(grown + extension)
			expect.NoError(t, err)
		}
	}
	all := table{}
	for _, of := range tables {
		all.rows = append(all.rows, of.rows...)
	}
	expect.NoError(t, all.print(os.Stdout))
	for _, row := range all.rows {
		if row[0] == "" || row[1] == "" {
			t.Errorf("a figure is missing: %q", row)
		}
	}
}

// TestEveryScenarioIsInOneLane: every scenario is in exactly one lane.
func TestEveryScenarioIsInOneLane(t *testing.T) {
	tested := strings.Split(strings.Join(lanes, ","), ",")
	if len(tested) != len(scenarios) {
		t.Errorf("%d of %d scenarios are tested", len(tested), len(scenarios))
	}
	for _, lane := range lanes {
		if _, err := (options{only: lane}).chosen(); err != nil {
			t.Error(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"
)

// table collects the figures of a run.
type table struct {
	rows [][3]string
}

// add adds a figure; beside is what to compare it with.
func (t *table) add(figure, value, beside string) {
	t.rows = append(t.rows, [3]string{figure, value, beside})
}

func (t *table) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s, %d cores, %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "figure\tmeasured\tbeside")
	for _, row := range t.rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", row[0], row[1], row[2])
	}
	return tw.Flush()
}

func perSecond(n int, d time.Duration) string { return fmt.Sprintf("%.0f/s", rate(n, d)) }

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func megabytes(b int64) string { return fmt.Sprintf("%d MB", b>>20) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

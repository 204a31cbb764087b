// SPDX-License-Identifier: Apache-2.0

package index

import (
	"runtime"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
)

// scanAtOnce limits how long Scan locks the index. A deletion locks the index several times, and may wait for Scan each time.
const scanAtOnce = 64

// Scan passes every subject that was not deleted to visit, with the evaluations of its rules. The index may change during
// the scan: each subject is passed as it is at that moment. visit must not keep the evaluations.
func (x *Index) Scan(visit func(policy.Subject, []policy.Evaluation)) {
	x.ScanAfter(func(s policy.Subject, evaluations []policy.Evaluation, _ policy.Was) { visit(s, evaluations) })
}

// ScanAfter is Scan, but visit also gets a function that evaluates the same subject by an earlier snapshot.
func (x *Index) ScanAfter(visit func(policy.Subject, []policy.Evaluation, policy.Was)) {
	x.scan(x.copyRows(), visit)
}

// ScanNamespaces is ScanAfter for the subjects in some namespaces. It evaluates no others.
func (x *Index) ScanNamespaces(in sets.Set[string], visit func(policy.Subject, []policy.Evaluation, policy.Was)) {
	x.scan(x.copyRowsIn(in), visit)
}

func (x *Index) scan(all []*FactRow, visit func(policy.Subject, []policy.Evaluation, policy.Was)) {
	past := &past{index: x, rules: map[pastKey]*partitionRules{}}
	was := past.was
	each := func(row *FactRow) {
		past.row = row
		visit(row.effectiveSubject(), x.evaluationsOf(row), was)
	}
	for rows := range slices.Chunk(all, scanAtOnce) {
		x.visit(rows, each)
		runtime.Gosched() // otherwise Scan often locks the index again before a goroutine that waits for it runs
	}
}

func (x *Index) copyRows() []*FactRow {
	x.mu.Lock()
	defer x.mu.Unlock()
	rows := make([]*FactRow, 0, x.rows.count)
	for s := range x.eachPartition {
		rows = append(rows, s.rows...)
	}
	return rows
}

func (x *Index) copyRowsIn(namespaces sets.Set[string]) (rows []*FactRow) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for namespace := range namespaces {
		for _, s := range x.partitions[namespace] {
			rows = append(rows, s.rows...)
		}
	}
	return rows
}

// visit calls each for the rows that are still in the index.
func (x *Index) visit(rows []*FactRow, each func(*FactRow)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var buffer [scanAtOnce]*FactRow
	left := buffer[:0]
	var current *partition // of the last row
	// A loop of its own lets the processor load many rows into its cache at the same time.
	for _, row := range rows {
		if p := row.partition; p != current {
			if p != x.partition(p.partitionKey) {
				continue
			}
			current = p
		}
		if current.has(row) && !row.is(isGone) {
			left = append(left, row)
		}
	}
	for _, row := range left {
		each(row)
	}
}

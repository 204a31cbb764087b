// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// cel measures the cost of a rule on a finished Job, compared with decoding that Job.
func (l *environment) cel(ctx context.Context) error {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	rule, problems := compiler.Rule(v1alpha1.Rule{
		Name: "jobs", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"},
		Eligible: "finished(object)", StartTime: "finishedAt(object)", TTL: "1h",
	}, nil, "rule")
	if len(problems) > 0 {
		return fmt.Errorf("compile: %v", problems)
	}
	job := batch{namespace: "cel", prefix: "job"}.job(0)
	job.TypeMeta.APIVersion, job.TypeMeta.Kind = "batch/v1", "Job"
	job.Status = finishedStatus(time.Now())
	data, err := json.Marshal(job)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return err
	}
	evaluate := testing.Benchmark(func(b *testing.B) {
		evaluator := compiler.NewEvaluator(ctx)
		defer evaluator.Close()
		b.ReportAllocs()
		for b.Loop() {
			evaluator.Facts(rule, object)
		}
	})
	decode := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var o map[string]any
			_ = sigsjson.UnmarshalCaseSensitivePreserveInts(data, &o)
		}
	})
	l.table.add("CEL, two expressions of a finished Job", fmt.Sprintf("%d ns, %d allocations", evaluate.NsPerOp(), evaluate.AllocsPerOp()),
		fmt.Sprintf("%.1f %% of decoding it from JSON (%d ns)", 100*float64(evaluate.NsPerOp())/float64(decode.NsPerOp()), decode.NsPerOp()))
	return nil
}

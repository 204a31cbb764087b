// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// A rule is compiled once and evaluated on any number of objects.
func ExampleCompiler_Rule() {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		panic(err)
	}
	builds := v1alpha1.Rule{
		Target:        v1alpha1.Target{APIVersion: "example.com/v1", Kind: "Build"},
		Eligible:      "object.?status.?phase.orValue('') in ['Done', 'Broken']",
		StartTime:     "object.status.completedAt",
		TTLExpression: "object.status.phase == 'Done' ? duration('36h') : days(10)",
	}
	rule, problems := compiler.Rule(builds, nil, "spec.rules[0]")
	fmt.Println("problems:", len(problems), "reads:", rule.Reads())

	evaluator := compiler.NewEvaluator(context.Background()) // one for each goroutine
	defer evaluator.Close()
	facts := evaluator.Facts(rule, map[string]any{
		"status": map[string]any{"phase": "Done", "completedAt": "2026-03-01T12:00:00Z"},
	})
	fmt.Println(facts.Eligible, facts.Start, facts.TTL, facts.Err)

	builds.Eligible = "objekt.status.phase == 'Done'"
	_, problems = compiler.Rule(builds, nil, "spec.rules[0]")
	fmt.Println(problems[0])

	// Output:
	// problems: 0 reads: [status.completedAt status.phase]
	// true 2026-03-01 12:00:00 +0000 UTC 36h0m0s <nil>
	// spec.rules[0].eligible:1:1: unknown name "objekt" (did you mean object?)
}

const batchPolicy = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: batch}
spec:
  mode: Enforce
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 1d
`

// From a policy as written to the decision on an object, as in kubectl sunset preview.
func Example() {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		panic(err)
	}
	data, err := yaml.YAMLToJSON([]byte(batchPolicy))
	if err != nil {
		panic(err)
	}
	document, err := policy.Parse(data) // strict: anything that Sunset does not understand is a problem
	if err != nil {
		panic(err)
	}
	p := document.Load(policy.DefaultProtection())
	programs := compiler.Load(p) // adds the problems of the expressions to p.Problems
	namespaces := map[string]policy.Namespace{"team-a": {}}
	snapshot := policy.NewSnapshot([]*policy.Policy{p}, namespaces, policy.DefaultProtection())

	job := map[string]any{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata": map[string]any{
			"namespace": "team-a", "name": "report", "uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-03-01T12:00:00Z",
		},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": "2026-03-01T12:10:00Z"},
		}},
	}
	subject, err := engine.SubjectOf(job)
	if err != nil {
		panic(err)
	}
	var evaluations []policy.Evaluation
	for _, rule := range snapshot.Effective(p.Rules[0].Kind.GroupKind(), subject.Namespace).Rules {
		facts := programs[rule.Key].Facts(context.Background(), job)
		evaluations = append(evaluations, policy.Evaluation{Rule: rule, Facts: facts, Known: true})
	}
	for _, now := range []time.Time{
		time.Date(2026, time.March, 2, 12, 9, 59, 0, time.UTC),
		time.Date(2026, time.March, 2, 12, 10, 0, 0, time.UTC),
	} {
		verdict, permit := policy.Decide(subject, evaluations, now)
		fmt.Println(verdict.Action, verdict.Reason, verdict.Rule, verdict.Due, permit.Valid())
	}

	// Output:
	// Wait Waiting batch/jobs 2026-03-02 12:10:00 +0000 UTC false
	// Delete Expired batch/jobs 2026-03-02 12:10:00 +0000 UTC true
}

// ExampleEvaluator_Facts_image evaluates a rule on an image of a node, as an agent on the node does.
func ExampleEvaluator_Facts_image() {
	data := []byte(`{
	  "kind": "ClusterRetentionPolicy", "metadata": {"name": "nodes"},
	  "spec": {"mode": "Enforce", "rules": [{
	    "name": "unused", "target": {"apiVersion": "node.sunset-k8s.io/v1alpha1", "kind": "Image"}, "nodeSelector": {"matchLabels": {"role": "web"}},
	    "eligible": "imageRepository(object.spec.tags[?0].orValue('')) != node.labels['keeps']", "ttl": "7d"
	  }]}}`)
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		panic(err)
	}
	document, err := policy.Parse(data)
	if err != nil {
		panic(err)
	}
	p := document.Load(policy.DefaultProtection())
	programs := compiler.Load(p)
	node := &engine.Node{Name: "worker-1", Labels: map[string]string{"role": "web", "keeps": "registry.example.com/cart"}}
	image := &engine.Image{
		ID: "sha256:1", Tags: []string{"registry.example.com/search:v1", "registry.example.com/search:latest"},
		Digests: []string{"registry.example.com/search@sha256:2"}, FirstSeen: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
	}

	evaluator := compiler.NewEvaluator(context.Background())
	defer evaluator.Close()
	evaluator.SetNode(node)
	for _, rule := range p.Rules {
		if !rule.SelectsNode(node.Labels) {
			continue
		}
		evaluation := policy.Evaluation{Rule: rule, Facts: evaluator.Facts(programs[rule.Key], image.Object()), Known: true}
		verdict, _ := policy.Decide(image.Subject(), []policy.Evaluation{evaluation}, time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC))
		fmt.Println(verdict.Action, verdict.Reason, verdict.Due, programs[rule.Key].NodeReads())
	}

	// Output: Wait Waiting 2026-03-08 12:00:00 +0000 UTC [labels.keeps]
}

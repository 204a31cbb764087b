// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// plan is what the administrators want, in the model's words. policiesText says the same in policies.
type plan struct {
	jobs    v1alpha1.Mode
	jobsTTL time.Duration
	audit   v1alpha1.Mode // of the policy that keeps Jobs with the label audit for longer

	also string // a further CEL condition for eligible Jobs

	idle    v1alpha1.Mode
	label   string // of Previews, which marks one as unused
	idleTTL time.Duration

	most   int // limit of Snapshots deleted within the window
	window time.Duration

	jobsOpen, snapshotsOpen opening
	freeze                  freeze
}

func (p plan) jobsEnforced() bool { return p.jobs == v1alpha1.Enforce }

func (p plan) auditEnforced() bool { return p.audit == v1alpha1.Enforce }

const (
	auditTTL     = 5 * time.Hour
	snapshotTTL  = 15 * time.Minute
	newestKept   = 2
	shortestJobs = 5 * time.Minute // bounds of a Job's own TTL
	longestJobs  = 6 * time.Hour
)

var firstPlan = plan{
	jobs: v1alpha1.Enforce, jobsTTL: time.Hour, audit: v1alpha1.Enforce, idle: v1alpha1.Enforce, label: "idle", idleTTL: 40 * time.Minute,
	most: 12, window: 15 * time.Minute,
}

const policiesText = `
metadata: {name: jobs, uid: uid-jobs}
spec:
  mode: %[1]s%[10]s
  rules:
  - name: finished
    target: {apiVersion: batch/v1, kind: Job}
    eligible: finished(object)%[9]s
    startTime: finishedAt(object)
    ttl: %[2]s
    overrideBounds: {ttlAnnotation: WithinBounds, minTTL: 5m, maxTTL: 6h}
---
metadata: {name: audit, uid: uid-audit}
spec:
  mode: %[3]s%[12]s
  rules:
  - name: audited
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {audit: "true"}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 5h
---
metadata: {name: previews, uid: uid-previews}
spec:
  mode: %[4]s
  rules:
  - name: unused
    target: {apiVersion: example.org/v1, kind: Preview}
    eligible: object.metadata.?labels[?'%[5]s'].orValue('') == 'true'
    ttl: %[6]s
---
metadata: {name: snapshots, uid: uid-snapshots}
spec:
  mode: Enforce
  limits: {maxDeletions: %[7]d, window: %[8]s}%[11]s
  rules:
  - name: old
    target: {apiVersion: example.org/v1, kind: Snapshot}
    eligible: "true"
    startTime: timestamp(object.metadata.creationTimestamp)
    ttl: 15m
    keepNewest: {count: 2, groupBy: object.metadata.labels.app}
    outcome: object.metadata.labels.app
    archive: {to: history}
`

const snapshotsUID = types.UID("uid-snapshots")

// dated returns the plan with the current time.
func (p plan) dated(c *engine.Compiler) dated {
	snapshot, _ := p.read(c)
	return dated{plan: p, mark: snapshot.Rules(previews.GroupKind())[0].Mark, at: time.Now()}
}

// read compiles the plan as Sunset does.
func (p plan) read(c *engine.Compiler) (*policy.Snapshot, map[string]*engine.Program) {
	text := fmt.Sprintf(policiesText, p.jobs, p.jobsTTL, p.audit, p.idle, p.label, p.idleTTL, p.most, p.window, p.also,
		p.jobsOpen.spec(), p.snapshotsOpen.spec(), p.freeze.spec())
	var all []*policy.Policy
	programs := map[string]*engine.Program{}
	for document := range documents(text) {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			panic(err)
		}
		read, err := policy.Parse(data)
		if err != nil {
			panic(err)
		}
		loaded := read.Load(policy.DefaultProtection())
		for key, program := range c.Load(loaded) {
			programs[key] = program
		}
		if len(loaded.Problems) > 0 {
			panic(fmt.Sprint(document, loaded.Problems))
		}
		all = append(all, loaded)
	}
	known := map[string]policy.Namespace{}
	for _, name := range namespaces {
		known[name] = policy.Namespace{}
	}
	return policy.NewSnapshot(all, known, policy.DefaultProtection()), programs
}

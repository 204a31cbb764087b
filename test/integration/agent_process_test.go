// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// allImages deletes every unused image.
const allImages = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: "true"
  ttl: 10s
  images: {minAge: 1s, allowUnpullable: true}
`

// agents starts agents of a node as separate processes.
type agents struct {
	*env
	args  []string
	state string // state directory
}

// agentProcesses prepares to start agents of a node.
func (w *env) agentProcesses(n *corev1.Node, d *containerd.Daemon, state string) *agents {
	return &agents{env: w, state: state, args: []string{
		"--node-name", n.Name, "--runtime-endpoint", d.Endpoint, "--state-dir", state, "--interval=500ms",
	}}
}

func (a *agents) start() *process {
	a.Helper()
	return startProcess(a.T, "sunset-node-agent", a.plane.Config(), a.args...)
}

// observed returns how long each image has been observed according to a state file; empty without a file.
func observed(state string) (map[string]time.Duration, error) {
	var file struct {
		Content struct {
			Images []struct {
				ID    string
				Known int64
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(state, history.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil:
		err = json.Unmarshal(data, &file)
	}
	all := map[string]time.Duration{}
	for _, i := range file.Content.Images {
		all[i.ID] = time.Duration(i.Known) * time.Millisecond
	}
	return all, err
}

// TestAgesSurviveAnAgent: an agent uses the ages that killed agents recorded, and removes no other images. Its audit records have the
// approval of the policy.
func TestAgesSurviveAnAgent(t *testing.T) {
	w := newEnv(t)
	d := containerd.Run(t, containerd.Options{Lane: containerd.Module})
	n, state := w.node("a"), t.TempDir()
	var unused []containerd.Image
	for i := range 120 {
		unused = append(unused, pulled(fmt.Sprint("go.test/unused:v", i)))
	}
	named, running := pulled("go.test/named:v1"), runnable("go.test/running:v1")
	expect.NoError(w, d.Import(t.Context(), append(unused, named)...))
	expect.NoError(w, d.Import(t.Context(), running))
	w.create(w.naming(n, named.Tags[0]))
	_, containers := w.running(d, running)
	program := w.agentProcesses(n, d, state)
	w.sunset()
	approval := formOf(w.rulesOnNodes(w.approved("unused", allImages), waits(0)))

	first := program.start()
	probe := unused[0].ID()
	w.ages(state, probe, 2*time.Second)
	first.kill()
	before, err := observed(state)
	expect.NoError(w, err)
	began := time.Now()
	second := program.start()
	least, after := w.ages(state, probe, before[probe]+1)
	if most := before[probe] + time.Since(began) + time.Second; least < before[probe] || after > most {
		t.Errorf("observed for %s before a restart, then for %s and %s", before[probe], least, after)
	}
	kept := []containerd.Image{named, running, {Tags: []string{containerd.SandboxImage}, Runnable: true}}
	w.killAmidst(program, d, second, unused, len(kept))

	before, err = observed(state)
	expect.NoError(w, err)
	last := program.start()
	w.ages(state, named.ID(), before[named.ID()]+1) // wait until it handles signals
	w.goes(d, unused...)
	last.stop(t)
	w.keeps(d, kept...)
	w.runOn(d, containers)
	records := 0
	for line := range bytes.Lines(slices.Concat(second.log.Bytes(), last.log.Bytes())) {
		if r, ok := audit.Parse(line); ok {
			records++
			expect.Equal(t, "approvals in the record of "+r.Object.Name, []string{approval}, r.Approvals)
		}
	}
	expect.Equal(t, "there are records", true, records > 0)
	if bad, err := filepath.Glob(filepath.Join(state, history.Name+".bad-*")); err != nil || len(bad) > 0 {
		t.Errorf("state files set aside: %v, %v", bad, err)
	}
}

// ages waits until a state file reports that an image was observed for this long, and returns the smallest and the last
// reported duration.
func (w *env) ages(state, id string, enough time.Duration) (least, last time.Duration) {
	w.Helper()
	least = enough
	cluster.Eventually(w, patience, func() error {
		known, err := observed(state)
		if last = known[id]; err == nil && last < enough {
			err = fmt.Errorf("observed for %s, want %s", last, enough)
		}
		least = min(least, last)
		return err
	})
	return least, last
}

// killAmidst repeatedly kills the agent shortly after it has removed an image, and starts a new one, until only stay images
// are left. If all were removed before three kills, it imports the unused ones again.
func (w *env) killAmidst(a *agents, d *containerd.Daemon, p *process, unused []containerd.Image, stay int) {
	w.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for ; kills < 10; kills++ {
		before := len(w.images(d))
		if before <= stay && kills >= 3 {
			break
		}
		for ; before <= stay; before = len(w.images(d)) {
			expect.NoError(w, d.Import(w.Context(), unused...))
		}
		cluster.Eventually(w, patience, func() error {
			there, err := w.listed(d)
			return cluster.Want(err == nil && len(there) < before, "none of %d images was removed, %v", before, err)
		})
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		p.kill()
		_, err := observed(a.state)
		expect.NoError(w, err)
		p = a.start()
	}
	p.kill()
	w.Logf("killed %d times", kills)
}

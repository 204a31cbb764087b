// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// imagesByTTL is a dry run with one rule for each TTL, which selects images whose tags begin with the rule's name.
func imagesByTTL(ttls map[string]string) string {
	var spec strings.Builder
	spec.WriteString("mode: DryRun\nrules:\n")
	for name, ttl := range ttls {
		fmt.Fprintf(&spec, `
- name: %[1]s
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('%[1]s.test/'))
  ttl: %[2]s
  images: {minAge: 1s}
`, name, ttl)
	}
	return spec.String()
}

// TestDryRunOfImages: a dry run reports the images that would be removed and their size, for each node and in total. After
// the policy is enforced and approved, exactly these images are removed.
func TestDryRunOfImages(t *testing.T) {
	w := newEnv(t)
	d := containerd.Run(t, containerd.Options{Lane: containerd.Module})
	n := w.node("a")
	now := []containerd.Image{pulled("now.test/a:v1"), pulled("now.test/b:v1")}
	later := []containerd.Image{pulled("hour.test/a:v1"), pulled("day.test/a:v1"), pulled("week.test/a:v1"), pulled("month.test/a:v1")}
	for i := range later {
		later[i].Bytes = 1000 << i
	}
	all := slices.Concat(now, later)
	expect.NoError(w, d.Import(t.Context(), all...))
	count := func(images ...containerd.Image) v1alpha1.ImageCount { return w.sizes(d, images) }
	due := v1alpha1.ImageDueCounts{Now: count(all[:2]...), Hour: count(all[:3]...), Day: count(all[:4]...), Week: count(all[:5]...)}

	w.sunset()
	w.agentOn(n, d, t.TempDir())
	p := w.policy("previewed", imagesByTTL(map[string]string{"now": "1s", "hour": "30m", "day": "12h", "week": "5d", "month": "30d"}))
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		if len(r.Policies) != 1 || r.Policies[0].Due != due || r.Policies[0].Eligible != int64(len(all)) {
			return fmt.Errorf("reported %+v, want %+v", r.Policies, due)
		}
		return nil
	})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.NodeImages != nil && s.NodeImages.Due == due && s.NodeImages.Nodes == 1, "want %+v", due)
	})
	w.keeps(d, all...)

	w.enforced(p)
	w.goes(d, now...)
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Removed == due.Now, "removed %+v, want %+v", r.Removed, due.Now)
	})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.NodeImages != nil && s.NodeImages.Removed == due.Now && s.NodeImages.Due.Now.Images == 0, "the count differs")
	})
	w.keeps(d, later...)
}

// sizes counts images and adds up their sizes as the runtime reports them.
func (w *env) sizes(d *containerd.Daemon, images []containerd.Image) v1alpha1.ImageCount {
	w.Helper()
	listed, err := d.Runtime().Images(w.Context())
	expect.NoError(w, err)
	bytes := map[string]int64{}
	for _, i := range listed {
		bytes[i.ID] = i.SizeBytes
	}
	count := v1alpha1.ImageCount{}
	for _, i := range images {
		count.Images, count.Bytes = count.Images+1, count.Bytes+bytes[i.ID()]
	}
	return count
}

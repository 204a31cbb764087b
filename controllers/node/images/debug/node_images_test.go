// SPDX-License-Identifier: Apache-2.0

package debug_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var taken = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

func seen() *debug.NodeImages {
	return &debug.NodeImages{
		Taken: taken,
		Node: engine.Node{
			Name: "worker-1", Labels: map[string]string{"pool": "build"},
			Filesystem: &v1alpha1.NodeImageFilesystem{CapacityBytes: 1 << 40, UsedBytes: 1<<39 + 1, UsedPercent: 50},
		},
		Images: []engine.Image{
			{ID: "sha256:1", Tags: []string{"a:1", "b:2"}, SizeBytes: 1<<53 + 1, FirstSeen: taken.Add(-time.Hour), LastUsed: taken.Add(-time.Minute)},
			{ID: "sha256:2", Digests: []string{"a@sha256:3"}, Pinned: true, RuntimeHandler: "gvisor", InUse: true, FirstSeen: taken.Add(-time.Hour)},
		},
		Uses: map[string]string{"sha256:2": "Pod team-a/web, as a:2"},
	}
}

func TestReadIsWhatWasWritten(t *testing.T) {
	written, err := json.Marshal(seen())
	expect.NoError(t, err)
	read, err := debug.Read(written)
	expect.NoError(t, err)
	want := seen()
	want.Images[0].UnusedSince = want.Images[0].LastUsed // set for every unused image
	expect.Equal(t, "read", want, read, cmpopts.EquateEmpty())
}

// TestRulesSeeTheSame: the items are the objects and node is the variable that rules read.
func TestRulesSeeTheSame(t *testing.T) {
	written, err := json.Marshal(seen())
	expect.NoError(t, err)
	var got struct {
		Node  any
		Items []any
	}
	expect.NoError(t, json.Unmarshal(written, &got))
	s := seen()
	for name, of := range map[string]struct{ got, want any }{
		"node": {got.Node, s.Node.Object()}, "image": {got.Items[0], s.Images[0].Object()}, "pinned image": {got.Items[1], s.Images[1].Object()},
	} {
		text, _ := json.Marshal(of.want)
		var want any
		expect.NoError(t, json.Unmarshal(text, &want))
		expect.Equal(t, name, want, of.got)
	}
}

func TestReadOtherJSON(t *testing.T) {
	head := `{"apiVersion":"v1","kind":"List","taken":"2026-03-01T12:00:00Z","node":{"name":"worker-1"},"items":`
	for name, test := range map[string]struct{ text, want string }{
		"an HTML page":              {"<html>", "not a list of the images of a node"},
		"another list":              {`{"apiVersion":"v1","kind":"List","items":[]}`, "not a list of the images of a node"},
		"other objects":             {head + `[{"apiVersion":"v1","kind":"Pod"}]}`, "item 1 of the list: want kind Image of node.sunset-k8s.io/v1alpha1, not Pod of v1"},
		"images of a later version": {head + `[{"apiVersion":"node.sunset-k8s.io/v2","kind":"Image"}]}`, ", not Image of node.sunset-k8s.io/v2"},
		"an image without ID":       {head + `[{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"}]}`, "item 1 of the list: metadata.name is missing"},
	} {
		if s, err := debug.Read([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want %q", name, s, err, test.want)
		}
	}
}

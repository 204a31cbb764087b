// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"
)

func TestOptionsSayWhatRuns(t *testing.T) {
	for name, c := range map[string]struct {
		opts Options
		want []Component
	}{
		"the zero value has controllers":          {Options{}, []Component{Etcd, APIServer, ControllerManager}},
		"an empty list has no controller manager": {Options{Controllers: []string{}}, []Component{Etcd, APIServer}},
		"everything but Kueue":                    {Options{Nodes: 1, Scheduler: true}, []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok}},
	} {
		if got := c.opts.components(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

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
		"nodes need kwok":                         {Options{Nodes: 1}, []Component{Etcd, APIServer, ControllerManager, Kwok}},
	} {
		if got := c.opts.components(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/program/filetest"
)

func TestPageHasEveryFlag(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	filetest.HasEveryFlag(t, "sunset-node-agent", newOptions())
}

func TestFileOnThePage(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	o := newOptions()
	filetest.HasEverySetting(t, "NodeAgentConfig", o)
	if err := o.check(); err != nil {
		t.Error(err)
	}
}

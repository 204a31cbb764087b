// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/program/filetest"
)

func TestFileOnThePage(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	o := newOptions()
	filetest.HasEverySetting(t, "NodeAgentConfig", o)
	if err := o.check(); err != nil {
		t.Error(err)
	}
}

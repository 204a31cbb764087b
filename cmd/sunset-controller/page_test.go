// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/program/filetest"
)

func TestPageHasEveryFlag(t *testing.T) {
	filetest.HasEveryFlag(t, "sunset-controller", newOptions())
}

func TestFileOnThePage(t *testing.T) {
	o := newOptions()
	filetest.HasEverySetting(t, "ControllerConfig", o)
	if err := o.check(); err != nil {
		t.Error(err)
	}
}

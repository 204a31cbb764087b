// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"os"
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

func TestMain(m *testing.M) { os.Exit(scenario.Main(m)) }

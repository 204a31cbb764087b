// SPDX-License-Identifier: Apache-2.0

// Package integration_test tests Sunset on a real API server with the garbage collector and the Job controller.
package integration_test

import (
	"flag"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/test/cluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	flag.Parse()
	_ = flag.Set("test.parallel", "1000") // the number of control planes bounds the tests that run; tests that wait for one do not block others
	code := cluster.Main(m, planes.Pool)
	_ = os.RemoveAll(programs.dir)
	os.Exit(code)
}

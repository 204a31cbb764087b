// SPDX-License-Identifier: Apache-2.0

// Package integration_test tests Sunset on a real API server with the garbage collector and the Job controller.
package integration_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/test/cluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	flag.Parse()
	_ = flag.Set("test.parallel", "1000") // the number of control planes bounds the tests that run; tests that wait for one do not block others
	plane := cluster.Options{
		Nodes: 2, Progress: os.Stderr, Controllers: append(cluster.VolumeControllers(), "deployment-controller", "replicaset-controller"),
	}
	var all []**cluster.Cluster
	for i := range planes.all {
		all = append(all, &planes.all[i])
	}
	os.Exit(cluster.Main(installed{m}, plane, all...))
}

// installed runs the tests after Sunset's CRDs are installed.
type installed struct{ m *testing.M }

func (i installed) Run() int {
	for _, plane := range planes.all {
		if _, err := envtest.InstallCRDs(plane.Config(), envtest.CRDInstallOptions{Paths: []string{"../../crds"}, ErrorIfPathMissing: true}); err != nil {
			fmt.Fprintln(os.Stderr, "install CRDs:", err)
			return 1
		}
	}
	planes.open()
	defer func() { _ = os.RemoveAll(programs.dir) }()
	return i.m.Run()
}

// SPDX-License-Identifier: Apache-2.0

// Package cluster builds and runs a real Kubernetes control plane on this
// machine, for tests, the demo and benchmarks.
//
// The programs are real: etcd, kube-apiserver, kube-controller-manager, kwok (fake nodes that run Pods
// until they end) and, after StartKueue, Kueue and, after StartVolumes, the snapshot controller,
// csi-snapshotter and csi-provisioner. Each is built once per machine from the Go module proxy and cached. Every
// server listens on its own port of 127.0.0.1, so clusters run side by side. Stop leaves no process or file. On Linux, when
// this process dies for any reason, the kernel ends its children.
//
// The package does not pull images, run containers, download anything except from the Go module proxy, or signal a process
// that it did not start.
//
// The tests of a package share clusters:
//
//	var clusters = cluster.NewPool(2, cluster.Options{Nodes: 2}, nil)
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, clusters))
//	}
//
// No option removes two limitations. The garbage collector finds a new custom resource type only at its next discovery, up
// to 30 seconds later. A Pod runs only if spec.nodeName names a fake node (see [NodeName]): no scheduler runs.
package cluster

// Package cluster builds and runs a real Kubernetes control plane on this
// machine, for tests, the demo and benchmarks.
//
// It promises: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
// kwok (fake nodes that run Pods to their end) and Kueue, for those who call
// StartKueue, are the real programs, built once per machine from the Go module
// proxy and cached; every server listens on 127.0.0.1 on a port of its own, so
// clusters run side by side; Stop leaves neither a process nor a file behind,
// and when this process dies in any way the kernel ends its children (on Linux).
//
// It refuses: to pull images, to run containers, to download anything outside
// the Go module proxy, and to signal a process it did not start.
//
// A test package shares one cluster:
//
//	var c *cluster.Cluster
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, cluster.Options{Nodes: 2}, &c))
//	}
//
// Two traps that no option can remove: the garbage collector discovers a new
// custom resource type only at its next discovery, up to 30 seconds later, and
// a Pod runs only if spec.nodeName names a fake node (see [NodeName]) or the
// scheduler is on.
package cluster

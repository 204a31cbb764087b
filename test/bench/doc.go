// Command bench measures Sunset beside what people use today and beside the raw limit of the API server, all in one run on
// one control plane, and prints one table. A Job of many Pods has a control plane of its own, with Sunset and without; the
// images of a node are those of a real containerd. See docs/benchmarks.md for how to read it.
package main

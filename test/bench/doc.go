// SPDX-License-Identifier: Apache-2.0

// Command bench measures Sunset, the tools that people use today, and the raw limit of the API server, all in one run on
// one control plane. It prints one table. A Job with many Pods has its own control plane, with and without Sunset; the
// images of a node are those of a real containerd. Scenarios with a million objects write them into etcd.
// docs/contributing/benchmarks.md explains the table.
package main

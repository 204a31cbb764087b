// Command bench measures Sunset beside what people use today and beside the raw limit of the API server, all in one run on
// one control plane, and prints one table. See docs/benchmarks.md for how to read it.
package main

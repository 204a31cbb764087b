// Package critest is a container runtime for tests: it answers CRI over real gRPC on a unix socket, with images,
// containers and sandboxes that a test makes up, and misbehaves as it is told to.
//
// It promises to run nothing, and to be gone when the test is. What it does by itself is what containerd does: it
// protects no image, and to remove one that is not there is no error.
package critest

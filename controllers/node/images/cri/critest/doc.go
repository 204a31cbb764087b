// SPDX-License-Identifier: Apache-2.0

// Package critest is a container runtime for tests. It serves CRI over gRPC on a unix socket, with images, containers and
// sandboxes that a test defines. A test can replace the answer of each call.
//
// It promises to run no containers, and to stop at the end of the test. By default it behaves like containerd: it protects no
// image, and the removal of an image that does not exist is not an error.
package critest

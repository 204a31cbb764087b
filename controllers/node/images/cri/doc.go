// SPDX-License-Identifier: Apache-2.0

// Package cri calls a container runtime, containerd or CRI-O, about its images. It uses the same socket as the kubelet.
//
// It promises that every call ends by its own deadline, no matter what the runtime does. After a runtime was unreachable, the
// next call connects again. A response is complete or an error, because an incomplete list would make an image look unused.
// Uses returns every image that anything on the node uses, by every name that the runtime knows for it, because no runtime
// promises to refuse the removal of a used image.
//
// It removes an image only by its full ID: a tag may mean another image a moment later, and a short ID is a prefix. It never
// pulls images and never uses the network.
package cri

// SPDX-License-Identifier: Apache-2.0

// Package cluster reads policies, namespaces and objects from a live cluster.
//
// It lists page by page, and requests only metadata where that is enough; for Secrets it always is.
//
// The only write is to one annotation of an object, and only to the version that was read.
package cluster

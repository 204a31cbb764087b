// SPDX-License-Identifier: Apache-2.0

// Package cluster reads policies, namespaces and objects from a live cluster.
//
// It lists page by page, and requests only metadata where that is enough; for Secrets it always is.
//
// It writes only what a command asks for: it creates an object or has the API server check one, writes the status of an object that
// was restored, and removes an annotation. It never deletes an object.
package cluster

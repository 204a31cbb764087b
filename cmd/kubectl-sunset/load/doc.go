// SPDX-License-Identifier: Apache-2.0

// Package load reads manifests: Kubernetes objects in YAML and JSON, in one or many documents, as single objects and
// lists. Among them it finds policies, with all their problems, and the labels of namespaces and nodes. It also reads the list
// of images that `crictl images -o json` prints.
//
// It streams: it holds one object at a time, for files of any length, unless the caller keeps the objects. It reads a list in
// JSON token by token, and splits a list in the block style of kubectl at the first line of each item. It reads other lists as a
// whole. Integers decode to int64, as in the API server.
//
// It reads policies strictly: any part that it cannot interpret is a problem of the policy, and is never skipped. Kinds and
// fields that may be wrong are warnings, because only a cluster knows them all.
//
// It does not guess. It returns an error for an object that is not a Kubernetes object, for text that it cannot parse, for a
// list of images that an agent would reject, and for an ambiguous image name. It does not decide about objects, and does not open
// files: package manifests finds them.
package load

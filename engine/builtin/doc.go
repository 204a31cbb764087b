// SPDX-License-Identifier: Apache-2.0

// Package builtin lists how the kinds of Kubernetes refer to each other, as expressions in CEL: by name, and by label selector. They
// are in references.yaml, in the form in which policies declare others. The Gateway API and snapshots of volumes are included,
// although a cluster may not have them.
//
// It promises that no object that the API server accepts makes references unknown: an expression reads a field only if the field
// exists, and a reference without a necessary namespace counts as none.
//
// It cannot cover names that are in no object. Examples are names that a program knows, templates (a StorageClass may build the
// name of a Secret from the name of a claim), and the configuration of a controller. It evaluates nothing.
package builtin

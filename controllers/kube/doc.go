// SPDX-License-Identifier: Apache-2.0

// Package kube implements the Source and the Remover of API objects: it lists and watches kinds, and deletes objects.
//
// It promises:
//   - It decodes each object straight into facts. No listing is held in memory as objects.
//   - If a kind cannot be listed, the Source reports a SourceError and retries. Other kinds are not delayed.
//   - Every DELETE carries a propagation policy, and the evaluated UID and resourceVersion as preconditions.
//   - If rules read references, it evaluates them again when the references change. An older result never replaces a newer one.
//   - It reads only the metadata of Secrets.
//
// It refuses to decide anything. It never sends a DELETE without a policy.Clearance.
package kube

// SPDX-License-Identifier: Apache-2.0

// Package checker checks what Sunset did, after the fact: it compares the audit logs and etcd's whole history (package
// history) with the promises of the documentation. It is a second, slow and simple implementation of docs/concepts/deletion.md and
// related pages. It shares only the API types with the product, so that the two can disagree.
//
// It promises: it checks every DELETE and every patch of Sunset's users, regardless of the result. If a rule uses something that
// the package does not implement, it reports each such deletion as not checked, and does not take it as proof.
//
// It does not trust status, logs or metrics of Sunset, except for the hash that identifies an approved form of a policy.
// Where timing is uncertain (the second within which a policy change applies, requests in flight), it assumes the longest
// time that the audit logs allow. So each violation is certain.
package checker

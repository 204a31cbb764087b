// SPDX-License-Identifier: Apache-2.0

// Package digest has the meaning of RetentionDigests: it reads and checks them, composes what they say from the status of policies
// and from counts, and executes their templates. It does no I/O: package controllers/digests sends digests.
//
// It promises that a digest is bounded in size, with any number of policies, and that no template runs for long. A digest that is
// limited to namespaces contains nothing about objects and RetentionPolicies elsewhere.
package digest

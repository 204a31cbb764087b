// SPDX-License-Identifier: Apache-2.0

// Package permissions checks the permissions that rules of RetentionPolicies need. These rules act with the permissions of a
// ServiceAccount, not with those of Sunset.
//
// It promises that a deletion relies on an answer that is at most a second old, so that a revoked permission soon counts as
// missing. A permission that cannot be checked counts as missing.
//
// It never grants permissions, and it does not concern ClusterRetentionPolicies.
package permissions

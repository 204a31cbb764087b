// Package permissions says whether the rules of RetentionPolicies may do what they say: they act with the rights of a
// ServiceAccount, not with Sunset's own.
//
// It promises that a right that was taken away counts as missing within a second of the next deletion, and that what
// cannot be asked counts as missing.
//
// It refuses to grant anything: ClusterRetentionPolicies are none of its business.
package permissions

// SPDX-License-Identifier: Apache-2.0

// Package rbac writes the permissions that policies need, as YAML for kubectl apply.
//
// The role for a policy and a resource does not depend on the caller, has exactly the verbs that the rules of the policy need,
// and does not change the roles of other policies, which have other names.
//
// The package does not know which permissions exist already: only the API server knows that.
package rbac

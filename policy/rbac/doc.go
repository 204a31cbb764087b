// Package rbac writes down the rights that policies need, as YAML that kubectl apply takes.
//
// It promises that the role for a policy and a resource is the same whoever asks, has every verb that the policy's rules need and
// no other, and takes nothing away from other policies, whose roles have other names.
//
// It refuses to know what anybody may do already: that is for the API server to say.
package rbac

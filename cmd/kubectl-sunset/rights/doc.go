// Package rights lists the rights that policies need, and finds those that are missing.
//
// It promises one right for each policy and resource, in the order of policies and rules, and that a right is missing only if the
// API server says so.
//
// It refuses to know the owners that objects name: somebody has to say which kinds are meant.
package rights

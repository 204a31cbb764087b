// Package inventory finds what manifest files hold for Sunset: policies, with everything that is wrong with them, and
// the labels of namespaces.
//
// It promises that a policy is read strictly: what is not understood is a problem of that policy, never skipped.
//
// It refuses to judge objects, and to hold on to any.
package inventory

// Package kinds is what is known of kinds and their fields without a cluster: those of the Kubernetes version that Sunset was built
// with, and those of CustomResourceDefinitions. It reports what contradicts that as warnings only, since a cluster may be newer; and
// it reports a kind that it does not know only if it knows what was probably meant.
package kinds

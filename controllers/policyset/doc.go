// SPDX-License-Identifier: Apache-2.0

// Package policyset builds the Snapshot that all other packages read, from the policies that administrators write and from the
// labels of namespaces. Right before a deletion, its live checks confirm that the Snapshot is still current.
//
// It promises that it parses policies strictly, and that an invalid policy never hides valid ones. No deletion relies on
// policies or a namespace that were read more than a second ago, even if a watch has stopped without an error.
//
// An edited policy is compiled in the background (compiling.go). Until it is compiled, the Snapshot has its previous version,
// and the live checks stop the deletions that the new version may prevent. Then publish passes a new Snapshot to the
// Subscribers. An enforced policy whose new version was neither counted nor approved gets a gate (gates.go): its rules keep
// their objects until package status has counted them.
//
// It never reads subjects.
package policyset

// SPDX-License-Identifier: Apache-2.0

// Package policyset builds the Snapshot that all other packages read, from the policies that administrators write and from the
// labels of namespaces. Right before a deletion, its live checks confirm that the Snapshot is still current.
//
// It promises that it parses policies strictly, and that an invalid policy never hides valid ones. No deletion relies on
// policies or a namespace that were read more than a second ago, even if a watch has stopped without an error.
//
// It never reads subjects.
package policyset

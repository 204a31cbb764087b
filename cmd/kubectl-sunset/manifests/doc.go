// SPDX-License-Identifier: Apache-2.0

// Package manifests finds files as kubectl does: files, directories, patterns, URLs, standard input, and the output of kustomize.
// Package load reads them.
package manifests

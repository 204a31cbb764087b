// SPDX-License-Identifier: Apache-2.0

// Package preview computes what would be deleted and when. From a stream of objects, policies and a time, it computes
// decisions. If it is also given the rules in force, it computes the changes.
//
// The decisions are those of the controller at that time. The package stores one small row for each subject (two if the
// decision changes), but no objects, and reports every expression that fails.
//
// It neither reads a clock, nor connects to a cluster, nor deletes objects.
package preview

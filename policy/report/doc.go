// SPDX-License-Identifier: Apache-2.0

// Package report writes what policies forecast as Reports and ClusterReports of OpenReports: https://github.com/openreports.
//
// It promises:
//
//   - There is one report for each policy and namespace. It contains nothing about other namespaces, and nothing about the content
//     of objects.
//   - The number of reports and the number of results in each are bounded.
//   - The same forecasts give the same reports, so that a report that has not changed need not be written.
//
// The fields are as Policy Reporter expects them: one object for each result, no scope, because it would hide the objects, and a
// summary that counts the results.
package report

// SPDX-License-Identifier: Apache-2.0

// Package status summarizes the statuses of policies: their numbers, what they delete next, and what stops their deletions.
//
// It shows what the controller wrote, and evaluates no rules itself.
package status

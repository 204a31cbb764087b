// SPDX-License-Identifier: Apache-2.0

// Package retention is the reconciler. It keeps an index of every kind that policies target. When a subject is due, it
// evaluates the subject once more, runs preflight, and deletes the subject.
//
// It promises:
//
//   - Nothing is deleted without a policy.DeletePermit, and without preflight.
//   - Due subjects are deleted on time, and fairly across policies and namespaces, even with a large backlog.
//   - A failure of one subject or kind does not stop the others.
//
// It does not depend on what a subject is: a Source lists and watches subjects, and a Remover deletes them. To support
// another kind of subject, implement these two and Sources, which opens a Source; Options also needs a preflight.Live, which says
// when deleting is allowed. docs/contributing/extending.md#support-another-kind-of-subject has an example, and the steps to add a
// kind to the controller.
package retention

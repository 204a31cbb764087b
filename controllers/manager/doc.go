// SPDX-License-Identifier: Apache-2.0

// Package manager starts the control loops of the controller, and serves health, metrics and the webhook.
//
// The packages beside it:
//
//   - policyset reads policies and namespaces, compiles rules, and checks before each deletion that nothing has changed. Its
//     package permissions checks the permissions of the ServiceAccounts of RetentionPolicies.
//   - retention waits until subjects are due, and deletes them. Its package index has the facts about the subjects of one kind,
//     ordered by when they are due, and within it rank orders the subjects that rules keep by number or capacity. Its package
//     preflight lists the checks right before a deletion.
//   - kube reads and deletes API objects. Its package listwatch lists and watches a kind, references tracks the references to
//     objects, and referrers watches the referring objects.
//   - ledgers records deletions before they happen, for limits and exact counts.
//   - status writes the status of policies, Events and gauges.
//   - admission validates policies before the API server stores them.
//   - node is about images. Its package agent runs on each node. images reads and deletes images, with cri for the container
//     runtime and history for the time since when each image is unused. debug shows the history. hub runs in the controller: it
//     sends the rules to the agents and collects their reports.
//   - metrics has all exported metrics.
//   - process has packages for any process: lease (tracks leadership), liveness, lockorder, features, tracing,
//     version and wake (wakes loops).
package manager

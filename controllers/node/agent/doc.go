// SPDX-License-Identifier: Apache-2.0

// Package agent is the process on each node: it connects the images of the node, as Source and Remover, to the reconciler, and
// reports their counts.
//
// It promises that no image is removed unless the agent has confirmed the rules with the API server within the second before.
// It writes the report when it has changed, at most once a minute. It makes no decisions: package policy evaluates rules, and
// policy/agentapi defines what the controller sends to nodes.
package agent

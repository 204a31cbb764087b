// SPDX-License-Identifier: Apache-2.0

// Package hub sends the rules about images to the agents on nodes, and collects their reports.
//
// It promises that the only NodeImageRules object matches the policies within about a second after either changes. It watches
// reports only while a rule about images exists. It makes no decisions: package policy/agentapi does.
package hub

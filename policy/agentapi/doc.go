// SPDX-License-Identifier: Apache-2.0

// Package agentapi is the data that the controller and the agents on nodes send each other: rules about images, and reports.
//
// A rule that cannot be sent or read keeps every image, and a report counts only for the current spec of a policy. The package
// does no I/O.
package agentapi

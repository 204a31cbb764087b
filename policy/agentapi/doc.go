// Package agentapi is what the controller and the agents on nodes send each other: rules about images, and reports.
//
// It promises that a rule that cannot be sent, or is not understood, keeps every image, and that a report counts only for the current spec of
// a policy. It refuses to do I/O.
package agentapi

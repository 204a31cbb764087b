// Package agentapi says what the agents on nodes are told of rules about images, and what their reports come to.
//
// It promises that whatever the agents cannot be told keeps every image, and that only what is reported about the present
// form of a policy counts. It refuses to do I/O.
package agentapi

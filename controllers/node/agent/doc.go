// Package agent wires what runs on a node: the images there as Source and Remover, the reconciler, and the report of what
// they come to.
//
// It promises that nothing is removed unless the rules were confirmed with the API server within a second before, and that the
// report is written when it has changed, at most once a minute. It refuses to decide: what the rules say is package
// policy's business, and what is told of the node policy/agentapi's.
package agent

// Package hub tells the agents on nodes what the rules about images are, and takes in what they report.
//
// It promises that the one NodeImageRules says what the policies say within about a second, whoever changes either, and
// that reports are followed only while there is a rule about images. It refuses to decide: package policy/agentapi does.
package hub

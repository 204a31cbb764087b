// Package gate is a proxy that a test puts before an API server, to make its client meet trouble at a chosen moment.
//
// It promises: what no fault is armed for passes unchanged, but that answers come as JSON, uncompressed, so that bodies and
// watch events can be read and edited, and that each request has a number by which the audit log knows it; each fault strikes the requests that it matches and no others, as often as it is
// told to, and can say how often it did; every request is in the journal.
//
// It refuses: to guess. A fault that never fired is for the test to notice (see [Armed.Fired]).
package gate

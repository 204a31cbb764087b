// Package ledgers keeps the RetentionLedgers: it writes down what is going to be removed before it is, and how that ended.
//
// It promises that nothing is removed by a policy that keeps a ledger unless the API server has confirmed the entry; that
// each ledger is written at most ten times a second, and once for many entries where many wait; that one ledger which
// cannot be written stops no policy but its own; and that who finds a ledger taken over by somebody else stops.
//
// It refuses to decide: what an entry means is package policy/ledger's business, what is removed the reconciler's.
package ledgers

// Package retention is the unified reconciler: it keeps an index of every kind that policies target, waits until a
// subject is due, judges it once more and has it removed.
//
// It promises that nothing is removed but on a policy.DeletePermit, after preflight; that what is due goes on time, fairly
// across policies and namespaces, whatever the backlog; and that no failure of one subject or kind ends the others.
//
// It refuses to know what a subject is. Sources bring subjects, a Remover takes them away: a pair of those is all that
// another sort of subject needs.
package retention

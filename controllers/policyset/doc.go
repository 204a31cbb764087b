// Package policyset is the loop that turns what administrators have written, and the labels of namespaces, into the Snapshot
// that everybody else reads, and the live checks that make sure the Snapshot is still true right before a deletion.
//
// It promises that a policy is read strictly, that one bad policy never hides the others, and that no deletion rests on
// policies or a namespace seen more than a second ago, even when a watch has silently stopped.
//
// It refuses to look at subjects.
package policyset

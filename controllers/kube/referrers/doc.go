// Package referrers watches what refers to ConfigMaps and Secrets, and tells an index of references.
//
// It promises that what is not known completely counts as that: a kind that may not be listed, whose watch is broken or says
// nothing for long, of which nobody can say whether it exists, or one of whose objects cannot be read, makes everything that
// it may refer to doubtful until it is mended. A kind counts as empty only where the API server says that it does not have
// it.
//
// While a kind is known and has no open watch, or one that is new, the index is told of a pause: what is known stands, and
// nothing should go by it. A watch that takes longer to come back than a few seconds is a loss, and so is a sleep of the machine.
//
// What it cannot see is how old an answer is: an API server may be behind the others, or late to tell, and what refers to
// an object since then is not known. Within milliseconds is usual; nobody promises it. A watch that is frozen looks like one
// to which nothing happens until a bookmark is due, or for 11 minutes where the API server sends none.
//
// It refuses to hold objects: each is dropped once its references are read.
package referrers

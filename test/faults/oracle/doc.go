// Package oracle judges what Sunset did, after it is done: from the audit logs and from etcd's whole history (package
// history), by what the documentation promises. It is a second, slow and obvious reading of docs/policy.md and the pages
// beside it, and shares no code with the product but the API types, so that the two can disagree.
//
// It promises: every DELETE of Sunset's users is looked at, whatever came of it, and every patch; what it cannot judge, because
// a rule uses something it does not know, it says so of, one deletion after the other, and takes for no proof of anything.
//
// It refuses: to believe status, logs or metrics of Sunset, but for the hash by which a form of a policy is approved. Where it
// allows for time (the second within which a policy counts, requests under way) it takes the widest that the audit logs leave, so
// that a violation is one.
package oracle

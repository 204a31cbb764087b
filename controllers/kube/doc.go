// Package kube is how API objects come and go: the Source that lists and watches a kind, and the Remover that deletes.
//
// It promises that an object becomes facts while it is decoded, so that no listing is ever held as objects; that a kind
// which cannot be listed is told as a Trouble, retried and delays no other kind; and that every DELETE carries the UID
// and resourceVersion that were judged, and a propagation policy. Where what rules say depends on what refers to an object,
// they are asked again when that changes, and no answer is overtaken by an older one. Of Secrets only metadata is ever read.
//
// It refuses to decide anything. It never sends a DELETE without a policy.DeletePermit.
package kube

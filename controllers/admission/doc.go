// Package admission reviews policies before the API server stores them: the validating webhook, and its certificate.
//
// It promises that a refusal names everything that is wrong, that nobody gives rules rights which they do not have
// themselves, and that any other doubt is a missing warning, never a refusal. Its own trouble, a missing certificate
// above all, never stops the controller.
//
// It refuses to be needed: what it refuses is an invalid rule to the controller too, suspending and deleting a policy
// never come here, and rights are checked again before anything is deleted.
package admission

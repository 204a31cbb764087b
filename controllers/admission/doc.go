// Package admission reviews policies before the API server stores them: the validating webhook, and its certificate.
//
// It promises that a refusal names everything that is wrong, that nobody gets rules with rights of a service account
// which he may not act as, and that what it cannot find out in time about a policy is a missing warning, never a
// refusal. Its trouble, a missing certificate above all, never stops the controller.
//
// It refuses to be needed: what it refuses is an invalid rule to the controller too, suspending and deleting a policy
// never come here, and rights are checked again before anything is deleted.
package admission

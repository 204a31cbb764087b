// SPDX-License-Identifier: Apache-2.0

// Package admission reviews policies before the API server stores them: the validating webhook, and its certificate.
//
// It promises:
//   - A refusal names all errors of the policy.
//   - Users can give rules only permissions that they have themselves.
//   - Any other check that fails omits a warning, and never refuses the policy.
//   - An error of the webhook itself, such as a missing certificate, never stops the controller.
//
// It refuses to be necessary. The controller does not execute rules that the webhook refuses. Requests that only suspend or
// delete a policy do not reach the webhook. Permissions are checked again before each deletion.
package admission

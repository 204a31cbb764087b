// SPDX-License-Identifier: Apache-2.0

// Package manager starts the control loops of the controller, and serves health, metrics and the webhook.
// docs/contributing/design.md#packages lists the packages beside it.
package manager

// SPDX-License-Identifier: Apache-2.0

package permissions

// Prune drops answers that were not requested for a long time.
func (c *Checker) Prune() { c.prune(c.clock.Now()) }

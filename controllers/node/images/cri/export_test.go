// SPDX-License-Identifier: Apache-2.0

package cri

// Remembered returns of how many containers and sandboxes a Runtime knows what they use.
func (r *Runtime) Remembered() int { return len(r.recall()) }

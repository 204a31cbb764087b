// SPDX-License-Identifier: Apache-2.0

// Package compare reads the samples and the outputs of tools, and compares them. It knows no control plane, so that its tests are small.
package compare

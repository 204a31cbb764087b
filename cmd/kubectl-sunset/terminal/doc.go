// SPDX-License-Identifier: Apache-2.0

// Package terminal knows the terminal: its width, whether it shows colors, and how to show progress on it.
package terminal

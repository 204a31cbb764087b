// SPDX-License-Identifier: Apache-2.0

// Package text formats text for people: in columns, wrapped at a width, and with a few colors.
//
// It does no I/O, and does not know the terminal. Without a style, text has no colors and always the same width.
package text

// SPDX-License-Identifier: Apache-2.0

// Package debug is the format in which an agent lists the images of its node for clients.
//
// It promises that Read returns what MarshalJSON has written: each image and the node, in the form that rules read. Any other
// input is an error as a whole.
//
// It makes no decisions and sends no requests.
package debug

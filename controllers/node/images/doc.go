// SPDX-License-Identifier: Apache-2.0

// Package images is the Source and Remover of the images of one node.
//
// It promises to keep each image that anything on the node uses, that a Pod bound to the node names, or that the runtime has
// pinned. Right before a removal it reads all of that again, and evaluates the image after that read. An image that has changed
// since its evaluation is kept. An age is never longer than the time for which the image was observed unused. An incomplete or
// invalid response of the runtime removes nothing.
//
// It makes no decisions: the reconciler does.
package images

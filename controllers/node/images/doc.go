// Package images is the Source and Remover of the images of one node.
//
// It promises that no image is removed which anything on the node uses, which a Pod bound to the node names, or which the
// runtime asks to leave: all of that is read again right before the removal, the verdict comes after it, and an image that is not
// as it was judged stays. An age is never longer than the image was observed unused. An
// answer of the runtime that is no answer, or not a whole one, removes nothing.
//
// It refuses to judge: what may go is the reconciler's business, whose Source and Remover a Node is.
package images

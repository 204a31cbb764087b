// Package crictl reads what `crictl images -o json` writes: the images of a node.
//
// It promises that a list which is none, or an image without an ID, is an error, and that fields it does not know are no
// concern of it.
//
// It refuses to guess when an image was last used: the list does not say.
package crictl

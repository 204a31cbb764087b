// Package crictl reads what `crictl images -o json` writes: the images of a node.
//
// It promises that a list which is none, and what an agent would not believe of the runtime itself, is an error: an ID that
// is not whole or is there twice, an empty name, a negative size. Fields that it does not know are no concern of it.
//
// It refuses to guess when an image was last used: the list does not say.
package crictl

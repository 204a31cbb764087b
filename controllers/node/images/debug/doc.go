// Package debug is what an agent has seen of the images of its node, and how it tells whoever asks.
//
// It promises that what is read is what was written: each image, and the node, as rules see them. What is anything else is an
// error as a whole.
//
// It refuses to judge, and to fetch anything.
package debug

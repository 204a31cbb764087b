// Package imagename finds the image that somebody means by a name.
//
// It promises that a name which may mean several images is an error that lists them, and that what a name means in full comes
// before what it may be a part of.
//
// It refuses to guess: a name that no image has is an error, be it ever so near to one.
package imagename

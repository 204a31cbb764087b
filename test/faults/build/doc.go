// Package build builds the controller for tests: as it is, with the race detector, with a clock that a test can set, as
// a mutant that lacks one of its safety mechanisms, and as it was at an earlier commit.
//
// It promises: each of these is built once per test process; the product has no switch that turns its safety off, so that
// flavours are made of patches that are laid over its sources (`go build -overlay`); a patch that no longer fits is an
// error that says where.
//
// It refuses: to change a file of the repository.
package build

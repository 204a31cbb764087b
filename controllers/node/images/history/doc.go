// Package history knows when each image of a node was first seen and last used, as long as the node lives.
//
// # What it promises
//
// An image is never said to be unused for longer than it was observed to be. What counts is the time between two complete
// listings of the runtime that both show the image and both show it unused, in one boot of the node and no further apart
// than the agent's interval explains; everything else does not age: not the time in which the agent, the runtime or the node
// was off, and not a step of the wall clock.
//
// It keeps no points of the wall clock, but ages: how long an image was observed since it was first seen, and since it was
// last used. Only CLOCK_BOOTTIME adds to them. The wall clock is used for nothing but to express an age as the time that lies
// so long ago, because rules are judged by "start + ttl <= now". When that clock steps, all those times step with it.
//
// An image that a listing does not show is forgotten; seen again, it begins again. An image that was shown in use begins
// again with the first listing that shows it unused, as it may have been used until then.
//
// # The file
//
// It is one JSON file with a checksum, replaced as a whole: a temporary file is written and synced, renamed, and the directory
// is synced. After a crash there is what was before or what was written. An observation that makes an age shorter is written
// by the Save after it; the others may wait, as to lose them only makes images younger. If such a Save fails, the file is
// withdrawn: it says more than is true.
//
// What is torn, corrupt, of another machine or of a newer version is set aside and never guessed at: ages begin again.
//
// One exception is left: an observation that a crash kept from being saved, or that a disk refused that did not let the file
// be withdrawn either. It is lost, as if no agent had run at that time.
//
// Why not bbolt: it would write less for each change, but 2,000 images are a file of 260 kB that is written at most once
// for each listing, and an embedded store has a file format of its own to be torn, locked, compacted and understood.
// A file that is replaced has two states, can be read by people, and needs no dependency. Why not renameio: it does not
// sync the directory, and leaves files with random names behind after a crash.
//
// # What it refuses
//
// It talks to no runtime, judges nothing and starts no goroutine. It never guesses an age from what others have written.
package history

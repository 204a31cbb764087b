// SPDX-License-Identifier: Apache-2.0

// Package history records when each image of a node was first seen and last used, for as long as the node lives.
//
// # What it promises
//
// The reported unused time of an image is never longer than the observed one. Time counts between two complete listings of the
// runtime that both show the image as unused. Both must be in the same boot of the node, and no further apart than the interval
// of the agent explains. No other time counts: not the time in which the agent, the runtime or the node was off, and no step of
// the wall clock.
//
// It stores ages, not times of the wall clock: how long an image was observed since it was first seen, and since it was last
// used. Only CLOCK_BOOTTIME adds to an age. The wall clock only converts an age to a time in the past, because rules evaluate
// "start + ttl <= now". When the wall clock steps, all those times step with it.
//
// An image that a listing does not show is forgotten. If it comes back, its age starts again. The age of an image in use starts
// again with the first listing that shows it as unused, because it may have been used until then.
//
// # The file
//
// The state is one JSON file with a checksum. Save replaces it atomically: it writes and syncs a temporary file, renames it and
// syncs the directory. After a crash the file has its old or its new content. If an observation makes an age shorter, the next
// Save writes it. Other observations may wait, because their loss only makes images younger. If such a Save fails it removes
// the file, because the ages in it are too long.
//
// A file that is truncated, corrupt, from another machine or from a newer version is renamed and not used: ages start again.
//
// One exception remains: a crash prevents the Save of an observation, or the disk refuses both the Save and the removal of the
// file. The observation is then lost, as if no agent had run at that time.
//
// Why not bbolt: it would write less for each change. But 2,000 images are a file of 260 kB, which is written at most once for
// each listing. An embedded store has its own file format, which can be damaged and must be locked, compacted and understood. A
// file that is replaced has two states, is readable for people and needs no dependency. Why not renameio: it does not sync the
// directory, and leaves files with random names behind after a crash.
//
// # What it refuses
//
// It calls no runtime, makes no decisions and starts no goroutine. It never derives an age from data that other programs have
// written.
package history

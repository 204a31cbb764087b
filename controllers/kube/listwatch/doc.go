// SPDX-License-Identifier: Apache-2.0

// Package listwatch reads lists and watches of the API server piece by piece: page by page, event by event, object by object.
//
// It promises:
//   - It passes each object to a Decoder and releases it before it reads the next one. No listing is held in memory as objects.
//   - An incomplete listing is an error.
//   - It keeps nothing of an object except what the Decoder returns.
//
// It sends a request again only before its response begins: if the connection breaks or times out, or if the API server answers with
// Retry-After.
//
// It refuses to interpret objects, and to retry a listing or a watch that has begun: a reflector does that.
package listwatch

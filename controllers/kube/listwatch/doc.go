// Package listwatch reads what the API server serves of a kind piece by piece: page by page, event by event, object by object.
//
// It promises that each object is handed to a Decoder, and let go, before the next one is read, so that no listing is ever
// held as objects; that half a listing is an error; and that what its Decoder does not read is held by nobody.
//
// It refuses to know what objects mean, and to try a listing or a watch again: a reflector does that.
package listwatch

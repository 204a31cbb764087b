// Package manifest reads Kubernetes objects from files: YAML and JSON, one or many documents, single objects and lists.
//
// It promises to stream: what it holds at a time is one object, however long the file. A list in JSON is read token by
// token, a list in the block style that kubectl writes is split at the lines that start an item; a list of another
// shape is read whole. Whole numbers decode as int64, as the API server's own decoding does it.
//
// It refuses to guess: what is no Kubernetes object, and what cannot be parsed, is an error with file and line.
package manifest

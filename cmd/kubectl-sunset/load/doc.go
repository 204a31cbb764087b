// Package load reads what files hold for Sunset: Kubernetes objects in YAML and JSON, one or many documents, single objects and
// lists; the policies among them, with everything that is wrong with them; the labels of namespaces and nodes; and the list of
// images that `crictl images -o json` prints.
//
// It promises to stream: what it holds at a time is one object, however long the file. A list in JSON is read token by
// token, a list in the block style that kubectl writes is split at the lines that start an item; a list of another
// shape is read whole. Whole numbers decode as int64, as the API server's own decoding does it.
//
// It promises that a policy is read strictly: what is not understood is a problem of that policy, never skipped. What may be
// wrong with kinds and fields, which only a cluster knows for sure, is a warning.
//
// It refuses to guess: what is no Kubernetes object, what cannot be parsed, a list of images that an agent would not believe, and a
// name that may mean several images are errors. It refuses to decide about objects, and to hold on to any.
package load

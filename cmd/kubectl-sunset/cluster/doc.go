// Package cluster reads what a preview needs from a live cluster: policies, the labels of namespaces, and objects.
//
// It promises to list page by page, and to ask for metadata alone where that is enough; for Secrets it always is.
//
// It refuses to write anything.
package cluster

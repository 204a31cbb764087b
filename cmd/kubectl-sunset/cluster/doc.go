// Package cluster reads what the commands need from a live cluster: policies, the labels of namespaces, and objects.
//
// It promises to list page by page, and to ask for metadata alone where that is enough; for Secrets it always is.
//
// It refuses to write anything but one annotation of an object, and that only on the very version that was read.
package cluster

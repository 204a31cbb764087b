// Package status is the loop that tells people what Sunset sees and does: policy status, Events and gauges.
//
// It promises that a status counts every subject exactly once, that its size and the number of writes do not depend on
// how many subjects there are, and that counting stops when nothing changes.
//
// It refuses to decide or delete: all it has of the reconciler is the right to look.
package status

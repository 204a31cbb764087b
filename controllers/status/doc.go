// SPDX-License-Identifier: Apache-2.0

// Package status is the loop that reports what Sunset sees and does: policy status, Events and gauges.
//
// It promises that a status counts every subject exactly once, that its size and the number of writes do not depend on the
// number of subjects, and that counting stops when nothing changes. Only a process that certainly leads writes statuses, and it
// does not overwrite a status that another process has written since it read or wrote that status.
//
// It never decides or deletes: it can only read the state of the reconciler.
package status

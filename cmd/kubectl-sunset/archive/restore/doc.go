// SPDX-License-Identifier: Apache-2.0

// Package restore plans how to bring archived objects back: which objects to create, in which order, and what differs from the
// archived ones.
//
// A plan is a pure function of the records and of what lives in the cluster; the package itself does no I/O. It promises that no planned
// object has a UID, that nothing that had finished runs again, that each object has a hold, and that every object that is not
// restored has a reason. In doubt it does not restore. The caller creates the objects, which never replaces one that exists.
package restore

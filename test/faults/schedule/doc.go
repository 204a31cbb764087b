// SPDX-License-Identifier: Apache-2.0

// Package schedule makes up faults at random. Users edit policies, namespaces and overrides, and create, change, hold and
// delete objects. At the same time requests are delayed, lost and refused, watches lose or repeat events, and clocks seem
// wrong. Replicas of the controller are killed, suspended and sent to another API server. In some schedules whole servers are
// suspended, lag behind or are killed.
//
// It promises: it draws a schedule completely from one source of random numbers before it runs it, so that the same seed
// gives the same schedule. A schedule can print itself. It ends without faults, and Sunset must then delete due objects.
//
// It does not check Sunset. The scenario that runs the schedule does, like any other.
package schedule

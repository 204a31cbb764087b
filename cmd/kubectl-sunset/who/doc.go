// SPDX-License-Identifier: Apache-2.0

// Package who finds who deleted an object: in audit records of Sunset, in archives, in Events, in ledgers, and in the audit
// log of the API server. It does no I/O: the caller passes what it has read.
package who

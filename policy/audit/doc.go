// SPDX-License-Identifier: Apache-2.0

// Package audit is the format of audit records: one for each deletion, which says what was deleted, by which rule, and why.
//
// It promises that later versions only add fields. It does no I/O: package controllers/audit writes records.
package audit

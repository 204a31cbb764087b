// SPDX-License-Identifier: Apache-2.0

// Package report writes pages of HTML about objects: facts, charts of the days ahead, and tables. A page is one file. It needs no
// network and no JavaScript, and can be printed. With JavaScript, a reader can sort and filter the tables.
//
// All text of a page is plain text: html/template escapes it. The Content-Security-Policy of a page allows its own script and
// style, by their hashes, and nothing else.
//
// It does no I/O, and reads no clock.
package report

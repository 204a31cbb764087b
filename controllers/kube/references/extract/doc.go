// SPDX-License-Identifier: Apache-2.0

// Package extract reads the references, the selectors and the labels of objects, with expressions that are built in and with
// expressions that policies declare. A Table reads only what answers the questions of rules.
//
// It promises that a Table is immutable. If references cannot be read, the result has an error and the kinds that it is about.
//
// It refuses to watch or request objects: its callers pass them.
package extract

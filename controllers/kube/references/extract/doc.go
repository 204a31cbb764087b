// SPDX-License-Identifier: Apache-2.0

// Package extract reads the references of an object to ConfigMaps and Secrets, with expressions that are built in and with
// expressions that policies declare.
//
// It promises that a Table is immutable. If references cannot be read, the result has an error and the kinds that it is about.
//
// It refuses to watch or request objects: its callers pass them.
package extract

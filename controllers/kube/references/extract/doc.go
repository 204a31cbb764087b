// Package extract reads from an object which ConfigMaps and Secrets it refers to: with the expressions that Kubernetes has built in,
// and with those that policies declare.
//
// It promises that a Table is immutable, and that what cannot be read is an error about the kinds that it may refer to.
//
// It refuses to watch or ask anything: it gets the objects.
package extract

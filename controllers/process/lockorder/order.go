// SPDX-License-Identifier: Apache-2.0

// Package lockorder defines the order in which the control loops lock mutexes, to prevent deadlocks.
//
// A goroutine that holds a lock may take only locks whose types come later in this package. A program that is built with the tag
// lockorder panics if a goroutine breaks this order. In other programs the order costs nothing. There are only the locks that a
// goroutine may hold while it calls another of these packages.
package lockorder

type (
	Reading     struct{} // policyset: live reads, which one goroutine makes for all waiting goroutines
	Publishing  struct{} // policyset: creates a snapshot and passes it to the other loops
	Reporter    struct{} // status
	Ledgers     struct{} // ledgers.Manager
	Ledger      struct{} // ledgers: the worker of one ledger
	Reevaluator struct{} // kube: evaluates objects again and passes the results to the index
	Referrers   struct{} // kube/referrers: the watched kinds
	References  struct{} // kube/references.Index
	Retention   struct{} // retention.Reconciler
	Index       struct{} // retention/index.Index
	Freshness   struct{} // policyset: results of live reads
	Policies    struct{} // policyset: the known policies and namespaces
)

// SPDX-License-Identifier: Apache-2.0

// Package lockorder defines the order in which the control loops lock mutexes, to prevent deadlocks.
//
// A goroutine that holds a lock may take only locks that come later:
//
//	Reading < Publishing < Reporter < Ledgers < Ledger < Reevaluator < Referrers < References < Retention < Index < Freshness < Policies
//
// A program that is built with the tag lockorder panics if a goroutine breaks this order. In other programs the order costs
// nothing. The list contains only locks that a goroutine may hold while it calls another of these packages.
package lockorder

// Rank is the rank of a lock in the order.
type Rank interface{ rank() int }

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

func (Reading) rank() int     { return 1 }
func (Publishing) rank() int  { return 2 }
func (Reporter) rank() int    { return 3 }
func (Ledgers) rank() int     { return 4 }
func (Ledger) rank() int      { return 5 }
func (Reevaluator) rank() int { return 6 }
func (Referrers) rank() int   { return 7 }
func (References) rank() int  { return 8 }
func (Retention) rank() int   { return 9 }
func (Index) rank() int       { return 10 }
func (Freshness) rank() int   { return 11 }
func (Policies) rank() int    { return 12 }

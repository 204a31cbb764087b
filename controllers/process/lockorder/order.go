// Package lockorder says in which order the control loops take locks, so that none waits for another forever.
//
// A goroutine that holds a lock takes only locks that come later:
//
//	Reading < Publishing < Reporter < Ledgers < Ledger < Reevaluator < Referrers < References < Retention < Index < Freshness < Policies
//
// A program that is built with the tag lockorder panics where a goroutine breaks this order; any other program pays nothing for it.
// Only locks are here that a goroutine may hold while it calls another of these packages.
package lockorder

// Rank is the place of a lock in the order.
type Rank interface{ rank() int }

type (
	Reading     struct{} // policyset: live reads, which one goroutine makes for all that wait
	Publishing  struct{} // policyset: a snapshot is made, and given to the other loops
	Reporter    struct{} // status
	Ledgers     struct{} // ledgers.Manager
	Ledger      struct{} // ledgers: the worker of one ledger
	Reevaluator struct{} // kube: objects are evaluated again, and the index is told
	Referrers   struct{} // kube/referrers: which kinds are watched
	References  struct{} // kube/references.Index
	Retention   struct{} // retention.Reconciler
	Index       struct{} // retention/index.Index
	Freshness   struct{} // policyset: what live reads have said
	Policies    struct{} // policyset: policies and namespaces as known
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

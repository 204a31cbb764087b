// Package rank keeps the ranking of one rule, keepNewest and capacity, as its members come and go.
//
// It promises that after every call each member stands as policy.Ranking.Rank would have it, that a call names exactly
// those whose standing it changed, and that a member costs the logarithm of their number.
//
// It refuses to decide what a standing leads to, to read a clock and to lock: its caller does.
package rank

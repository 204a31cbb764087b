// Package schedule makes up trouble at random: policies are edited, objects come, change, end, are held and go, namespaces
// and overrides change, while requests are delayed, lost and refused, watches lie, clocks seem wrong, and replicas of the
// controller are killed, suspended and sent to another API server. In some schedules whole servers stand still, lag behind or
// die.
//
// It promises: a schedule is drawn whole from one source of random numbers before anything of it is carried out, so that a
// seed gives the same schedule again; it says what it does; in its end nothing is disturbed any more, and what is due must go.
//
// It refuses: to judge. The scene that it runs in does, as any other.
package schedule

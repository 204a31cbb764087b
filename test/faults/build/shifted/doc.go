// Package shifted is a clock that another process sets while this one runs: it can step, as when somebody sets the machine's
// clock, and it can run too fast or too slow.
//
// It promises: a step moves the wall clock alone, never the monotonic one that Go keeps in a [time.Time]; a drift moves both,
// and timers with them; what was set counts from the moment that the call returned, also for a process that stood still.
//
// It refuses: to be noticed where nobody sets it. Without [Variable] in the environment it is the machine's clock.
package shifted

// SPDX-License-Identifier: Apache-2.0

package mutants

// throttleMutants change how slow or failing namespaces are prevented from delaying others.
var throttleMutants = map[string]Mutant{
	"limiter: a 429 in a throttled namespace does not apply to others": {
		File: "controllers/retention/worker_slots.go", Test: "./controllers/retention TestA429InAThrottledNamespaceRestsAll",
		Old: "if attempt != nil && (fresh || attempt.asksForLess()) {",
		New: "if attempt != nil && fresh {",
	},
	"throttle: a slow request keeps its slot": {
		File: "controllers/retention/throttle.go", Old: "if pl.gaveUpSlot = give; give {", New: "if pl.gaveUpSlot = give && it.uid == \"\"; pl.gaveUpSlot {",
		Test: "./controllers/retention TestFailingNamespacesDelayNoOthers",
	},
	"throttle: a slow namespace is not throttled": {
		File: "controllers/retention/throttle.go", Old: "l.slow > t.max/4 || t.clock.Now().Sub(l.goodAt) > slowAfter", New: "l.slow > t.max",
		Test: "./controllers/retention TestFailingNamespacesDelayNoOthers",
	},
	"throttle: a failure does not shrink the window": {
		File: "controllers/retention/throttle.go", Old: "l.failures, l.window = l.failures+1, 1", New: "l.failures, l.window = l.failures+1, t.max",
		Test: "./controllers/retention TestFailingNamespaceIsAskedOnceAtATime",
	},
	"throttle: a namespace is not rotated": {
		File: "controllers/retention/throttle_turns.go", Old: "t.turns = append(t.turns, namespace)\n", New: "t.turns = slices.Insert(t.turns, 0, namespace)\n",
		Test: "./controllers/retention TestThrottledNamespacesTakeTurns",
	},
	"throttle: failing namespaces have no share of their own": {
		File: "controllers/retention/throttle_turns.go", Old: "underWay >= max(1, t.max/4)", New: "underWay >= t.max",
		Test: "./controllers/retention TestFailingNamespaceIsAskedOnceAtATime",
	},
	"throttle: throttling never ends": {
		File: "controllers/retention/throttle.go", Old: "if l.throttled && l.good >= t.max {", New: "if l.throttled && l.good > 100*t.max {",
		Test: "./controllers/retention TestRecoveredNamespaceIsThrottledNoMore",
	},
	"throttle: a slow denial counts as a fast one": {
		File: "controllers/retention/throttle.go", Old: "\t\t\trest = deniedRetry\n", New: "\t\t\trest = 0\n",
		Test: "./controllers/retention TestDeniedNamespaceIsProbedWithADueObject",
	},
	"throttle: successes before a failure count towards the end of throttling": {
		File: "controllers/retention/throttle.go", Test: "./controllers/retention TestNamespaceThatFailsNowAndThenStaysThrottled",
		Old: "l.good, l.until = 0, now.Add(throttledFor)",
		New: "l.until = now.Add(throttledFor)",
	},
	"throttle: throttled namespaces do not wait for Retry-After": {
		File: "controllers/retention/worker_slots.go", Test: "./controllers/retention TestThrottledNamespacesWaitForRetryAfter",
		Old: "(!failing || p.reconciler.failingRate.Wait(ctx) == nil) && p.limit.rest(ctx) == nil {",
		New: "(!failing || p.reconciler.failingRate.Wait(ctx) == nil) {",
	},
	"throttle: a deletion without an attempt counts as a failure": {
		File: "controllers/retention/throttle.go", Old: "case attempt == nil || attempt.Unsent:\n",
		New:  "case attempt == nil:\n\t\tl.notBefore = t.clock.Now().Add(deniedRetry)\n\tcase attempt.Unsent:\n",
		Test: "./controllers/retention TestDeniedNamespaceIsProbedWithADueObject",
	},
	"throttle: a postponed deletion keeps its ledger entry": {
		File: "controllers/retention/worker_slots.go", Old: "\t\tp.withdraw(it) // before", New: "\t\t// before",
		Test: "./controllers/retention TestThrottledNamespaceRecordsOneDeletionAtATime",
	},
	"throttle: a postponed subject is withdrawn while it is attempted": {
		File: "controllers/retention/worker_slots.go", Old: "\t\tpark(false)\n", New: "\t\tpark(false)\n\t\tp.withdraw(it)\n",
		Test: "./controllers/retention TestThrottledNamespaceLosesNone",
	},
	"throttle: an attempt that hangs stops its namespace": {
		File: "controllers/retention/throttle_turns.go", Old: "l.underWay-stuck[namespace] >= l.window", New: "l.underWay-0*stuck[namespace] >= l.window",
		Test: "./controllers/retention TestAttemptThatHangsStopsItsNamespaceForAWhileOnly",
	},
	"throttle: all deletions of a throttled namespace are recorded": {
		File: "controllers/retention/throttle_turns.go", Old: "l.awaitsRecord[key] = t.clock.Now().Add(ledgerTurn)", New: "l.awaitsRecord[key] = t.clock.Now()",
		Test: "./controllers/retention TestThrottledNamespaceRecordsOneDeletionAtATime",
	},
	"throttle: failing namespaces have the full rate": {
		File: "controllers/retention/reconciler.go", Old: "rate.Limit(o.MaxPerSecond/10)", New: "rate.Limit(o.MaxPerSecond*10)",
		Test: "./controllers/retention TestFailingNamespaceTakesATenthOfThePace",
	},
	"limiter: a failed admission counts as a busy server": {
		File: "controllers/retention/limiter.go", Old: "case attempt == nil || attempt.Unsent || attempt.Result == Unadmitted:\n",
		New:  "case attempt == nil || attempt.Unsent:\n\tcase attempt.Result == Unadmitted:\n\t\tl.shrink(time.Minute)\n",
		Test: "./controllers/retention TestFailingNamespacesDelayNoOthers",
	},
	"throttle: only requests are slow, not checks": {
		File: "controllers/retention/attempt.go", Old: "f.timed(ctx, f.it, func() { obstacle = f.check(ctx, checks, since, round > 0) })",
		New:  "obstacle = f.check(ctx, checks, since, round > 0)",
		Test: "./controllers/retention TestSlowChecksInANamespaceDelayNoOther",
	},
	"throttle: a busy server does not lower the concurrency": {
		File: "controllers/retention/throttle.go", Old: "l.window, l.notBefore = 1, t.clock.Now().Add(throttledRetry)", New: "l.window = t.max",
		Test: "./controllers/retention TestBusyServerIsAskedLessInThrottledNamespacesToo",
	},
	"limiter: a request that was not sent counts as a busy server": {
		File: "controllers/retention/limiter.go", Old: "attempt == nil || attempt.Unsent || attempt.Result == Unadmitted", New: "attempt == nil || attempt.Result == Unadmitted",
		Test: "./controllers/retention TestLimitAfterOneAttempt",
	},
	"limiter: a 5xx among good answers counts as a busy server": {
		File: "controllers/retention/limiter.go", Old: "l.clock.Since(l.goodAt) < shrinkEvery", New: "l.clock.Since(l.goodAt) < 0",
		Test: "./controllers/retention TestErrorAmongSuccessesDoesNotLowerConcurrency",
	},
	"remover: the status code decides about a webhook denial": {
		File: "controllers/kube/remove.go", Old: "\tcase denied:\n", New: "\tcase denied && code == http.StatusForbidden:\n",
		Test: "./controllers/kube TestOutcomeOf",
	},
	"remover: a failing webhook counts as a busy server": {
		File: "controllers/kube/remove.go", Old: "\tcase failed:\n", New: "\tcase failed && code == http.StatusTeapot:\n",
		Test: "./controllers/kube TestOutcomeOf",
	},
}

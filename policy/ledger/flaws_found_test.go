// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// TestInterleavingsFindEachFlaw adds one flaw at a time to the machine or its driver. The exploration must find a schedule in
// which the flaw breaks a guarantee.
func TestInterleavingsFindEachFlaw(t *testing.T) {
	for f, b := range map[flaw]bounds{
		listsFirst:       {things: 1, leaders: 2, losses: 1, opens: 2},
		opensUnread:      {things: 1, leaders: 2, losses: 1, opens: 2, standby: true},
		sharesItsName:    {things: 1, leaders: 2, losses: 1, opens: 2},
		takesOverUnseen:  {things: 1, leaders: 2, losses: 1, opens: 2},
		ignoresLock:      {things: 1, leaders: 1, losses: 2, opens: 2},
		countsLostAgain:  {things: 1, leaders: 1, losses: 1, opens: 2},
		sendsUnwritten:   {things: 1, leaders: 1, losses: 1, opens: 2},
		trustsInherited:  {things: 1, leaders: 2, opens: 2},
		notThereIsVoid:   {things: 1, leaders: 1, losses: 1, opens: 2},
		changedIsVoid:    {things: 1, leaders: 1, losses: 1, births: 1, opens: 2},
		refusedIsVoid:    {things: 1, leaders: 1, losses: 1, refusals: 1, opens: 2},
		unknownDeleted:   {things: 1, leaders: 1, losses: 1, opens: 2},
		unknownIsVoid:    {things: 1, leaders: 1, losses: 1, opens: 2},
		retriesUnseen:    {things: 1, leaders: 1, losses: 1, opens: 2},
		sameIsVoid:       {things: 1, leaders: 1, losses: 1, opens: 2},
		otherIsChanged:   {things: 1, leaders: 1, losses: 1, births: 1, opens: 2},
		removingIsOld:    {things: 1, finalizers: 1, leaders: 1, losses: 1, opens: 2},
		absentIsVoid:     {things: 1, leaders: 1, losses: 1, opens: 2},
		opensCounted:     {things: 1, leaders: 1, losses: 1, opens: 2},
		opensTwice:       {things: 1, leaders: 1, losses: 1, edits: 1, opens: 2},
		voidsSent:        {things: 1, leaders: 1, losses: 1, opens: 2},
		endsEarly:        {things: 1, leaders: 1, losses: 1, opens: 2, lapses: 1},
		endsUnread:       {things: 1, leaders: 1, losses: 1, opens: 2, lapses: 1},
		agesOnRetry:      {things: 1, leaders: 1, losses: 2, opens: 2, lapses: 2},
		spendsNothing:    {things: 2, leaders: 1, ticks: 1, opens: 2, budget: one},
		chargesOwnOnly:   {things: 2, leaders: 2, ticks: 1, opens: 2, budget: one},
		acceptsOther:     {things: 1, leaders: 1, edits: 1, opens: 2, archives: true},
		readsNothingBack: {things: 1, leaders: 1, opens: 1, archives: true, lies: 1},
		countsFirst:      {things: 1, leaders: 1, opens: 1, archives: true},
		endsUnsettled:    {things: 1, leaders: 1, losses: 1, opens: 1, archives: true},
		absentInDoubt:    {things: 1, leaders: 1, losses: 1, opens: 1, archives: true},
		lastResultWins:   {things: 1, leaders: 2, losses: 1, removals: 1, opens: 1, archives: true},
		confirmsLater:    {things: 2, leaders: 1, opens: 2, archives: true},
		formerWrites:     {things: 1, leaders: 2, losses: 1, edits: 1, removals: 1, opens: 1, archives: true},
		confirmsLost:     {things: 1, leaders: 1, losses: 1, opens: 1, archives: true},

		ignoresSkew: {things: 2, leaders: 2, ticks: 3, opens: 2, budget: one, skew: -ledger.Skew},
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			b.flaw = f
			x, _, err := explore(b, 150_000)
			if err == nil || err == errMost {
				t.Fatalf("no violation in %d states", len(x.schedules))
			}
			t.Logf("%v: found after %d states, in %d steps:\n%v", err, len(x.schedules), len(x.path), x)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// started is an hour ago. Rules here have a TTL of an hour, so subjects are due exactly now.
var started = now.Add(-time.Hour)

// says makes the evaluation of an enforced rule, which is due now; options change it.
func says(name string, options ...func(*policy.Evaluation)) policy.Evaluation {
	r := policy.Evaluation{
		Rule:  enforced("p", name),
		Facts: policy.Facts{Selected: true, Eligible: true, Start: started},
		Known: true,
	}
	for _, o := range options {
		o(&r)
	}
	return r
}

func unknown(r *policy.Evaluation)     { r.Known, r.Facts = false, policy.Facts{} }
func notSelected(r *policy.Evaluation) { r.Facts = policy.Facts{} }
func notEligible(r *policy.Evaluation) { r.Facts = policy.Facts{Selected: true} }
func failed(r *policy.Evaluation) {
	r.Facts = policy.Facts{Selected: true, Err: errors.New("no such key")}
}
func doubted(r *policy.Evaluation)   { r.Facts = policy.Facts{Selected: true, Err: errDoubted} }
func noStart(r *policy.Evaluation)   { r.Facts.Start = time.Time{} }
func invalid(r *policy.Evaluation)   { r.Rule.Problems = []policy.Problem{{Path: "spec"}} }
func dryRun(r *policy.Evaluation)    { r.Rule.Mode = v1alpha1.DryRun }
func suspended(r *policy.Evaluation) { r.Rule.Mode = v1alpha1.Suspend }
func never(r *policy.Evaluation)     { r.Rule.HasTTLExpression, r.Facts.TTL = true, policy.NeverTTL }

func ttl(d time.Duration) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.TTL = d }
}
func mode(m v1alpha1.Mode) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.Mode = m }
}
func ttlExpression(d time.Duration) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.HasTTLExpression, r.Facts.TTL = true, d }
}
func notBefore(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Facts.NotBefore = at }
}
func start(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Facts.Start = at }
}

// job is the owner of subjects in these tests.
var job = &policy.Owner{Kind: jobs, Name: "job", UID: "uid-job"}

func deletesOwner(owner *policy.Owner) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.Owner, r.Facts.Owner = true, owner }
}

// outcome is the compared part of a verdict: action, reason and the rule that decided.
type outcome struct {
	action policy.Action
	reason policy.Reason
	rule   string
}

func outcomeOf(v policy.Verdict) outcome { return outcome{v.Action, v.Reason, v.Rule.Rule} }

func check(t *testing.T, got policy.Verdict, want outcome) {
	t.Helper()
	expect.Equal(t, "outcome of", want, outcomeOf(got), cmp.AllowUnexported(outcome{}))
}

func TestDecideWithOneRule(t *testing.T) {
	tests := map[string]struct {
		evaluation policy.Evaluation
		want       outcome
	}{
		"due":                                   {says("a"), outcome{policy.Delete, policy.Expired, "a"}},
		"due in one nanosecond":                 {says("a", ttl(time.Hour+1)), outcome{policy.Wait, policy.Waiting, "a"}},
		"due one nanosecond ago":                {says("a", ttl(time.Hour-1)), outcome{policy.Delete, policy.Expired, "a"}},
		"a start in the future waits":           {says("a", start(now.Add(1)), ttl(0)), outcome{policy.Wait, policy.Waiting, "a"}},
		"a TTL of 0":                            {says("a", start(now), ttl(0)), outcome{policy.Delete, policy.Expired, "a"}},
		"the TTL of the expression applies":     {says("a", ttlExpression(2*time.Hour)), outcome{policy.Wait, policy.Waiting, "a"}},
		"not selected":                          {says("a", notSelected), outcome{policy.Keep, policy.NotSelected, ""}},
		"not eligible":                          {says("a", notEligible), outcome{policy.Keep, policy.NotEligible, "a"}},
		"no start time":                         {says("a", noStart), outcome{policy.Keep, policy.NoStartTime, "a"}},
		"never due":                             {says("a", never), outcome{policy.Keep, policy.NeverDue, "a"}},
		"an error":                              {says("a", failed), outcome{policy.Keep, policy.EvaluationFailed, "a"}},
		"an invalid rule":                       {says("a", invalid), outcome{policy.Keep, policy.RuleInvalid, "a"}},
		"an invalid rule keeps what it selects": {says("a", invalid, notEligible), outcome{policy.Keep, policy.RuleInvalid, "a"}},
		"an invalid rule that does not select":  {says("a", invalid, notSelected), outcome{policy.Keep, policy.NotSelected, ""}},
		"missing facts":                         {says("a", unknown), outcome{policy.Keep, policy.Stale, "a"}},
		"suspended":                             {says("a", suspended), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"suspended without a start":             {says("a", suspended, noStart), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"suspended and not eligible":            {says("a", suspended, notEligible), outcome{policy.Keep, policy.NotEligible, "a"}},
		"a dry run has no effect":               {says("a", dryRun), outcome{policy.Keep, policy.NotSelected, ""}},
		"no mode is a dry run":                  {says("a", mode("")), outcome{policy.Keep, policy.NotSelected, ""}},
		"an unknown mode keeps":                 {says("a", mode("enforce")), outcome{policy.Keep, policy.IsSuspended, "a"}},

		"references are unknown":                                    {says("a", doubted), outcome{policy.Keep, policy.ReferencesUnknown, "a"}},
		"references are unknown, suspended":                         {says("a", doubted, suspended), outcome{policy.Keep, policy.ReferencesUnknown, "a"}},
		"references are unknown, waiting for approval":              {says("a", doubted, unapproved), outcome{policy.Keep, policy.ReferencesUnknown, "a"}},
		"references are unknown, invalid":                           {says("a", doubted, invalid), outcome{policy.Keep, policy.RuleInvalid, "a"}},
		"references are unknown, a dry run":                         {says("a", doubted, dryRun), outcome{policy.Keep, policy.NotSelected, ""}},
		"references are unknown, over capacity":                     {says("a", doubted, excess), outcome{policy.Keep, policy.ReferencesUnknown, "a"}},
		"due, and not before now":                                   {says("a", notBefore(now)), outcome{policy.Delete, policy.Expired, "a"}},
		"due, and not before the next nanosecond":                   {says("a", notBefore(now.Add(1))), outcome{policy.Wait, policy.Waiting, "a"}},
		"over capacity, and not before now":                         {says("a", excess, ttl(2*hour), notBefore(now)), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity, and not before the next nanosecond":         {says("a", excess, ttl(2*hour), notBefore(now.Add(1))), outcome{policy.Wait, policy.Waiting, "a"}},
		"over capacity, no TTL, and not before the next nanosecond": {says("a", excess, ttl(policy.NeverTTL), notBefore(now.Add(1))), outcome{policy.Wait, policy.Waiting, "a"}},
		"not eligible, and not before the next nanosecond":          {says("a", notEligible, notBefore(now.Add(1))), outcome{policy.Keep, policy.NotEligible, "a"}},
		"never due, and not before now":                             {says("a", never, notBefore(now)), outcome{policy.Keep, policy.NeverDue, "a"}},
		"never due, over capacity":                                  {says("a", never, excess), outcome{policy.Keep, policy.NeverDue, "a"}},
		"suspended by an override":                                  {says("a", suspendedHere), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"suspended by an override, not eligible":                    {says("a", suspendedHere, notEligible), outcome{policy.Keep, policy.NotEligible, "a"}},
		"a dry run that an override suspends":                       {says("a", suspendedHere, dryRun), outcome{policy.Keep, policy.NotSelected, ""}},
		"waiting for approval":                                      {says("a", unapproved), outcome{policy.Keep, policy.IsUnapproved, "a"}},
		"waiting for approval without a start":                      {says("a", unapproved, noStart), outcome{policy.Keep, policy.IsUnapproved, "a"}},
		"waiting for approval and not eligible":                     {says("a", unapproved, notEligible), outcome{policy.Keep, policy.NotEligible, "a"}},
		"waiting for approval and invalid":                          {says("a", unapproved, invalid), outcome{policy.Keep, policy.RuleInvalid, "a"}},
		"waiting for approval and over capacity":                    {says("a", unapproved, excess), outcome{policy.Keep, policy.IsUnapproved, "a"}},
		"among the newest":                                          {says("a", newest), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"among the newest, over capacity":                           {says("a", newest, excess, ttl(2*hour)), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"among the newest without a start":                          {says("a", newest, noStart), outcome{policy.Keep, policy.NoStartTime, "a"}},
		"among the newest and not eligible":                         {says("a", newest, notEligible), outcome{policy.Keep, policy.NotEligible, "a"}},
		"the rule deletes the owner":                                {says("a", deletesOwner(job)), outcome{policy.Delete, policy.Expired, "a"}},
		"the rule deletes the owner later":                          {says("a", deletesOwner(job), ttl(2*hour)), outcome{policy.Wait, policy.Waiting, "a"}},
		"no owner to delete":                                        {says("a", deletesOwner(nil)), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, not even an unfinished one":            {says("a", deletesOwner(nil), func(r *policy.Evaluation) { r.Rule.AllowUnfinished = true }), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, later":                                 {says("a", deletesOwner(nil), ttl(2*hour)), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, over capacity":                         {says("a", deletesOwner(nil), excess), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, within capacity":                       {says("a", deletesOwner(nil), ttl(policy.NeverTTL)), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, not marked":                            {says("a", deletesOwner(nil), estimated), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, never due":                             {says("a", deletesOwner(nil), never), outcome{policy.Keep, policy.NoOwner, "a"}},
		"no owner to delete, not eligible":                          {says("a", notEligible, deletesOwner(nil)), outcome{policy.Keep, policy.NotEligible, "a"}},
		"no owner to delete, without a start":                       {says("a", deletesOwner(nil), noStart), outcome{policy.Keep, policy.NoStartTime, "a"}},
		"no owner to delete, among the newest":                      {says("a", deletesOwner(nil), newest), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"no owner to delete, suspended":                             {says("a", deletesOwner(nil), suspended), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"no owner to delete, a dry run":                             {says("a", deletesOwner(nil), dryRun), outcome{policy.Keep, policy.NotSelected, ""}},
		"not marked":                                                {says("a", estimated), outcome{policy.Keep, policy.Unmarked, "a"}},
		"not marked, over capacity":                                 {says("a", estimated, excess), outcome{policy.Keep, policy.Unmarked, "a"}},
		"not marked, among the newest":                              {says("a", estimated, newest), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"not seen eligible and not marked":                          {says("a", marking), outcome{policy.Keep, policy.NoStartTime, "a"}},
		"marked":                                                    {says("a", markedAt(started)), outcome{policy.Delete, policy.Expired, "a"}},
		"marked, and no longer eligible":                            {says("a", markedAt(started), changed(noLonger)), outcome{policy.Keep, policy.NotEligible, "a"}},
		"over capacity":                                             {says("a", excess, ttl(2*hour)), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity, and due by TTL":                             {says("a", excess), outcome{policy.Delete, policy.Expired, "a"}},
		"over capacity, a nanosecond before due":                    {says("a", excess, ttl(hour+1)), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity, and starts in the future":                   {says("a", excess, start(now.Add(1))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity without a ttl":                               {says("a", excess, ttl(policy.NeverTTL)), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity without a start":                             {says("a", excess, noStart), outcome{policy.Keep, policy.NoStartTime, "a"}},
		"over capacity and suspended":                               {says("a", excess, suspended), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"over capacity, and an error":                               {says("a", failed, excess), outcome{policy.Keep, policy.EvaluationFailed, "a"}},
		"within capacity, without a ttl":                            {says("a", ttl(policy.NeverTTL)), outcome{policy.Keep, policy.WithinCapacity, "a"}},
		"within capacity, and due by TTL":                           {says("a", func(r *policy.Evaluation) { r.Rule.Capacity.Bounded = true }), outcome{policy.Delete, policy.Expired, "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, permit := policy.Decide(policy.Subject{}, []policy.Evaluation{test.evaluation}, now)
			check(t, v, test.want)
			expect.Equal(t, "has a permit", v.Action == policy.Delete, permit.Valid())
		})
	}
}

func TestSeveralRules(t *testing.T) {
	tests := map[string]struct {
		evaluations []policy.Evaluation
		want        outcome
	}{
		"no rule":                                             {nil, outcome{policy.Keep, policy.NotSelected, ""}},
		"two are due: the latest decides":                     {evaluations(says("a", ttl(0)), says("b", ttl(time.Minute))), outcome{policy.Delete, policy.Expired, "b"}},
		"the latest due has not come":                         {evaluations(says("a"), says("b", ttl(2*time.Hour))), outcome{policy.Wait, policy.Waiting, "b"}},
		"same due time: the first by name decides":            {evaluations(says("b"), says("a")), outcome{policy.Delete, policy.Expired, "a"}},
		"a rule that is not eligible does not keep":           {evaluations(says("a", notEligible), says("b")), outcome{policy.Delete, policy.Expired, "b"}},
		"a rule without a start does not keep":                {evaluations(says("a", noStart), says("b")), outcome{policy.Delete, policy.Expired, "b"}},
		"a rule that does not select does not keep":           {evaluations(says("a", notSelected), says("b")), outcome{policy.Delete, policy.Expired, "b"}},
		"a dry run that fails does not keep":                  {evaluations(says("a", dryRun, failed), says("b")), outcome{policy.Delete, policy.Expired, "b"}},
		"an error keeps":                                      {evaluations(says("a"), says("b", failed)), outcome{policy.Keep, policy.EvaluationFailed, "b"}},
		"an invalid rule keeps":                               {evaluations(says("a"), says("b", invalid)), outcome{policy.Keep, policy.RuleInvalid, "b"}},
		"missing facts keep":                                  {evaluations(says("a"), says("b", unknown)), outcome{policy.Keep, policy.Stale, "b"}},
		"a suspended rule that is eligible keeps":             {evaluations(says("a"), says("b", suspended)), outcome{policy.Keep, policy.IsSuspended, "b"}},
		"a suspended rule that is not eligible does not keep": {evaluations(says("a"), says("b", suspended, notEligible)), outcome{policy.Delete, policy.Expired, "a"}},
		"a TTL of never keeps":                                {evaluations(says("a"), says("b", never)), outcome{policy.Keep, policy.NeverDue, "b"}},
		"a rule that waits for approval keeps":                {evaluations(says("a"), says("b", unapproved)), outcome{policy.Keep, policy.IsUnapproved, "b"}},
		"a rule that keeps the newest keeps":                  {evaluations(says("a"), says("b", newest)), outcome{policy.Keep, policy.KeptNewest, "b"}},
		"a rule without its mark keeps":                       {evaluations(says("a"), says("b", estimated)), outcome{policy.Keep, policy.Unmarked, "b"}},
		"none of them keeps as a dry run":                     {evaluations(says("a"), says("b", unapproved, dryRun), says("c", newest, dryRun), says("d", estimated, dryRun)), outcome{policy.Delete, policy.Expired, "a"}},
		"a rule within its capacity does not keep":            {evaluations(says("a"), says("b", ttl(policy.NeverTTL))), outcome{policy.Delete, policy.Expired, "a"}},
		"over capacity of one, due later by another":          {evaluations(says("a", excess, ttl(2*hour)), says("b", ttl(3*hour))), outcome{policy.Wait, policy.Waiting, "b"}},
		"over capacity of one, due by another":                {evaluations(says("a", excess, ttl(2*hour)), says("b", ttl(0))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity of one, kept by another":               {evaluations(says("a", excess, ttl(2*hour)), says("b", newest)), outcome{policy.Keep, policy.KeptNewest, "b"}},
		"over capacity of both":                               {evaluations(says("b", excess, ttl(2*hour)), says("a", excess, ttl(3*hour))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"over capacity of one, within that of another":        {evaluations(says("a", excess, ttl(policy.NeverTTL)), says("b", ttl(policy.NeverTTL))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"not due: the first reason is reported":               {evaluations(says("a", notEligible), says("b", noStart)), outcome{policy.Keep, policy.NoStartTime, "b"}},
		"the same reason: the first by name decides":          {evaluations(says("b", failed), says("a", failed)), outcome{policy.Keep, policy.EvaluationFailed, "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, permit := policy.Decide(policy.Subject{}, test.evaluations, now)
			check(t, v, test.want)
			expect.Equal(t, "has a permit", v.Action == policy.Delete, permit.Valid())
		})
	}
}

func evaluations(r ...policy.Evaluation) []policy.Evaluation { return r }

// TestReasonsInOrder makes every reason apply, and then removes the first one repeatedly.
func TestReasonsInOrder(t *testing.T) {
	all := evaluations(
		says("error", failed), says("invalid", invalid), says("stale", unknown), says("suspended", suspended),
		says("unapproved", unapproved), says("newest", newest), says("never", never), says("unmarked", estimated),
		says("due", ttl(2*time.Hour)), says("over", excess, ttl(2*time.Hour)), says("within", ttl(policy.NeverTTL)),
		says("no-start", noStart), says("not-eligible", notEligible), says("not-selected", notSelected),
	)
	order := []outcome{
		{policy.Keep, policy.EvaluationFailed, "error"}, {policy.Keep, policy.RuleInvalid, "invalid"},
		{policy.Keep, policy.Stale, "stale"}, {policy.Keep, policy.IsSuspended, "suspended"},
		{policy.Keep, policy.IsUnapproved, "unapproved"}, {policy.Keep, policy.KeptNewest, "newest"},
		{policy.Keep, policy.NeverDue, "never"}, {policy.Keep, policy.Unmarked, "unmarked"},
		{policy.Wait, policy.Waiting, "due"}, {policy.Delete, policy.OverCapacity, "over"},
		{policy.Keep, policy.WithinCapacity, "within"}, {policy.Keep, policy.NoStartTime, "no-start"},
		{policy.Keep, policy.NotEligible, "not-eligible"}, {policy.Keep, policy.NotSelected, ""},
	}
	for i, want := range order {
		v, _ := policy.Decide(policy.Subject{}, all[i:], now)
		check(t, v, want)
	}
}

// owned makes the rule delete the subject's owner.
func owned(r *policy.Evaluation) {
	r.Rule.Owner, r.Facts.Owner = true, &policy.Owner{Name: "owner", UID: "o"}
}

func TestFlagsKeep(t *testing.T) {
	const every = policy.IsTerminating | policy.IsHeld | policy.IsUncounted
	tests := map[string]struct {
		flags      policy.Flags
		evaluation policy.Evaluation
		want       outcome
	}{
		"terminating is first":                    {every, says("a"), outcome{policy.Keep, policy.Terminating, "a"}},
		"then held":                               {policy.IsHeld | policy.IsUncounted, says("a"), outcome{policy.Keep, policy.Held, "a"}},
		"then uncounted":                          {policy.IsUncounted, says("a"), outcome{policy.Keep, policy.Uncounted, "a"}},
		"held is before an error":                 {policy.IsHeld, says("a", failed), outcome{policy.Keep, policy.Held, "a"}},
		"held while not due":                      {policy.IsHeld, says("a", ttl(policy.Day)), outcome{policy.Keep, policy.Held, "a"}},
		"held, and no rule selects it":            {policy.IsHeld, says("a", notSelected), outcome{policy.Keep, policy.NotSelected, ""}},
		"held, and the rule has no name":          {policy.IsHeld, says("", func(r *policy.Evaluation) { r.Rule.ID = policy.RuleID{} }), outcome{policy.Keep, policy.Held, ""}},
		"a controller owns it":                    {policy.IsControlled, says("a"), outcome{policy.Keep, policy.Held, "a"}},
		"a controller owns it, with allowManaged": {policy.IsControlled, says("a", allowManaged), outcome{policy.Keep, policy.Held, "a"}},
		"a controller owns it, and the rule deletes the controller": {policy.IsControlled, says("a", owned), outcome{policy.Delete, policy.Expired, "a"}},
		"held, and the rule deletes the controller":                 {policy.IsHeld | policy.IsControlled, says("a", owned), outcome{policy.Keep, policy.Held, "a"}},
		"no flag: the rule decides":                                 {0, says("a"), outcome{policy.Delete, policy.Expired, "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, w := policy.Decide(policy.Subject{Flags: test.flags}, evaluations(test.evaluation), now)
			check(t, v, test.want)
			expect.Equal(t, "permit", v.Action == policy.Delete, w.Valid())
		})
	}
}

func TestStartIsFlooredAtCreation(t *testing.T) {
	created := now.Add(-time.Minute)
	ancient := time.Date(1, time.January, 1, 0, 0, 0, 1, time.UTC)
	tests := map[string]struct {
		start time.Time
		want  policy.Verdict
	}{
		"before creation": {ancient, policy.Verdict{Action: policy.Wait, Reason: policy.Waiting,
			Start: created, TTL: time.Hour, Due: created.Add(time.Hour)}},
		"after creation": {created.Add(time.Second), policy.Verdict{Action: policy.Wait, Reason: policy.Waiting,
			Start: created.Add(time.Second), TTL: time.Hour, Due: created.Add(time.Hour + time.Second)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.want.Rule = policy.RuleID{Policy: "p", Rule: "a"}
			v, _ := policy.Decide(policy.Subject{Created: created}, evaluations(says("a", start(test.start))), now)
			expect.Equal(t, "verdict", test.want, v)
		})
	}
}

func TestDeletePermitOfACapacity(t *testing.T) {
	v, w := policy.Decide(policy.Subject{Created: started}, evaluations(says("a", excess, ttl(2*hour))), now)
	want := policy.Verdict{Action: policy.Delete, Reason: policy.OverCapacity, Rule: policy.RuleID{Policy: "p", Rule: "a"}, Start: started, TTL: 2 * hour, Due: now}
	expect.Equal(t, "verdict", want, v)
	if w.Reason() != policy.OverCapacity || !w.Due().Equal(now) {
		t.Errorf("permit for %s at %s", w.Reason(), w.Due())
	}
}

func TestReasonsAreACopy(t *testing.T) {
	all := policy.Reasons()
	all[0] = ""
	expect.Equal(t, "the first reason", policy.Terminating, policy.Reasons()[0])
}

// TestDueTimeAfterQuietPeriod: the later of TTL and quiet period decides.
func TestDueTimeAfterQuietPeriod(t *testing.T) {
	for name, test := range map[string]struct {
		evaluation policy.Evaluation
		due        time.Time
	}{
		"the TTL is longer":                       {says("a", ttl(2*hour), notBefore(now.Add(1))), now.Add(hour)},
		"the TTL is shorter":                      {says("a", notBefore(now.Add(1))), now.Add(1)},
		"both have ended":                         {says("a", notBefore(now.Add(-1))), now},
		"over capacity":                           {says("a", ttl(2*hour), excess, notBefore(now.Add(1))), now.Add(1)},
		"over capacity, and the period has ended": {says("a", ttl(2*hour), excess, notBefore(now.Add(-1))), now},
	} {
		t.Run(name, func(t *testing.T) {
			if v, _ := policy.Decide(policy.Subject{}, evaluations(test.evaluation), now); !v.Due.Equal(test.due) {
				t.Errorf("due %s, want %s", v.Due, test.due)
			}
		})
	}
}

// TestBackupOfAnyDueRule: the latest due rule gives the time. If another due rule that deletes the same object backs up the same
// and more, it deletes, so that a rule without a backup does not skip that of another.
func TestBackupOfAnyDueRule(t *testing.T) {
	archive := func(e *policy.Evaluation) { e.Rule.Archive = &policy.Archive{} }
	other := func(e *policy.Evaluation) { e.Rule.Archive = &policy.Archive{To: "other"} }
	snapshot := snapshotting(&policy.ClaimSnapshot{})
	early := start(started.Add(-time.Hour))
	for name, test := range map[string]struct {
		evaluations []policy.Evaluation
		want        string
	}{
		"none backs up":                       {evaluations(says("a", early), says("b")), "p/b"},
		"the latest archives":                 {evaluations(says("a", early), says("b", archive)), "p/b"},
		"an earlier one archives":             {evaluations(says("a", early, archive), says("b")), "p/a"},
		"an earlier one makes a snapshot":     {evaluations(says("a", early, snapshot), says("b")), "p/a"},
		"a snapshot does not skip an archive": {evaluations(says("a", early, snapshot), says("b", archive)), "p/b"},
		"nor an archive another one":          {evaluations(says("a", early, snapshot, archive), says("b", other)), "p/b"},
		"a snapshot counts more":              {evaluations(says("a", early, snapshot), says("b", early, archive), says("c")), "p/a"},
		"both count most":                     {evaluations(says("a", early, snapshot, archive), says("b", snapshot)), "p/a"},
		"two archive":                         {evaluations(says("a", early, archive), says("b", archive), says("c")), "p/b"},
		"the archive is of a dry run":         {evaluations(says("a", early, archive, dryRun), says("b")), "p/b"},
		"the archive is not for this object":  {evaluations(says("a", early, archive, notEligible), says("b")), "p/b"},
		"the latest deletes the owner":        {evaluations(says("a", early, archive), says("b", deletesOwner(job))), "p/b"},
		"another deletes the owner, archived": {evaluations(says("a", early, archive, deletesOwner(job)), says("b", deletesOwner(job))), "p/a"},
	} {
		t.Run(name, func(t *testing.T) {
			v, permit := policy.Decide(policy.Subject{}, test.evaluations, now)
			expect.Equal(t, "action", policy.Delete, v.Action)
			i := permit.Intent()
			expect.Equal(t, "rule", test.want, i.Rule.ID.String())
			for _, e := range test.evaluations {
				if e.Rule == i.Rule {
					expect.Equal(t, "start time", e.Facts.Start, i.Start)
				}
			}
			expect.Equal(t, "due time", now, i.Due)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// situation is the state that a status of policy p depends on. The zero value has one Job, which is due.
type situation struct {
	p, q   func(*policy.Policy)        // p has rule a, q has rule b, which selects nothing
	kind   func(*retention.KindState)  // of Jobs
	row    func(*policy.Subject)       // the Job
	facts  map[string]policy.Facts     // about the Job, by rule
	doubt  error                       // for all policies
	ledger *ledgers.State              // of p
	nodes  func(*policy.Policy) *fleet // that report about p, which then has a rule about images
	pace   float64                     // maximum number of deletions per second; 0 for no maximum

	unarchived error // why rules that archive cannot do so; nil if they can
}

// archives is an Archives with the same problem for all rules.
type archives struct{ problem error }

func (a archives) Problem(*policy.Rule) error { return a.problem }

// put makes a scene the current state.
func (w *harness) put(s situation) {
	rules := []*policy.Rule{rule("a")}
	if s.nodes != nil {
		rules = append(rules, rule("img", onNodes))
	}
	p, q := policyOf(v1alpha1.Enforce, rules...), policyOf(v1alpha1.Enforce, rule("b"))
	q.Name, q.UID, q.Rules[0].ID.Policy, q.Rules[0].PolicyUID = "q", "uid-q", "q", "uid-q"
	for of, change := range map[*policy.Policy]func(*policy.Policy){p: s.p, q: s.q} {
		if change != nil {
			change(of)
		}
	}
	p.Ledger = s.ledger != nil
	e := compiledOf(p, q)
	if p.Rules[0].ReadsReferences() {
		e.Asked = references.Asked{job: policy.AsksReferences}
	}
	start := time.Now().Add(-2 * time.Hour)
	subject := policy.Subject{Namespace: "team-a", Name: "x", UID: types.UID(fmt.Sprint(time.Now())), ResourceVersion: "1", Created: start}
	if s.row != nil {
		s.row(&subject)
	}
	about := func(name string, otherwise policy.Facts) policy.Facts {
		if f, ok := s.facts[name]; ok {
			return f
		}
		return otherwise
	}
	kind := kindOf(e, time.Now(), packed(subject, about("a", yes(start)), about("b", policy.Facts{})))
	if s.kind != nil {
		s.kind(&kind)
	}
	f := &fleet{}
	if s.nodes != nil {
		f = s.nodes(p)
	}
	w.Nodes, w.NodeRules, w.MaxPerSecond, w.Archives = f, f, s.pace, archives{s.unarchived}
	w.set(func() {
		delete(w.ledgers, p.UID)
		if s.ledger != nil && s.ledger.Ledger != nil || s.ledger != nil && s.ledger.WriteError != nil {
			w.ledgers[p.UID] = *s.ledger
		}
		w.kinds, w.preflightErr = []retention.KindState{kind}, s.doubt
	})
	w.Use(e)
}

// address says where reasons are reported: for which users, in which condition, by which Events and which alert, and within how
// many seconds.
type address struct {
	who       string
	condition string // TYPE=STATUS; the type may be the reason
	events    string // when it begins, and when it ends; may contain the reason. Empty for none: it does not stop deletions
	alert     string // empty for none: the state may be intended
	seconds   int    // until the Event; the alert follows within two minutes
	scenes    map[string]situation
}

const byReason = "REASON"

func troubled(reason string) situation {
	return situation{kind: func(k *retention.KindState) { k.Lost = &retention.SourceError{Reason: reason, Message: "no"} }}
}

func delayed(reason string) situation {
	return situation{kind: func(k *retention.KindState) {
		k.Delayed = 1
		k.Obstacles = func() map[types.UID]retention.Delay { return map[types.UID]retention.Delay{"x": {Reason: reason}} }
		k.Delays = func(time.Time) []retention.Delay {
			return []retention.Delay{{Policy: "p", Namespace: "team-a", Name: "x", Reason: reason, Message: "no"}}
		}
	}}
}

func inMode(m v1alpha1.Mode) func(p *policy.Policy) {
	return func(p *policy.Policy) {
		p.Mode = m
		for _, r := range p.Rules {
			r.Mode = m
		}
	}
}

// obstacle returns a scene with a node whose report has a condition.
func obstacle(condition, reason string) situation {
	return situation{nodes: func(p *policy.Policy) *fleet {
		r := nodeReport("n-1", p, time.Now(), 2)
		r.Conditions = []metav1.Condition{{
			Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: "no", LastTransitionTime: timeOf(time.Now().Add(-2 * time.Minute)),
		}}
		return fleetOf(r)
	}}
}

// nodesThat returns a scene with nodes that report about a policy about images.
func nodesThat(change func(f *fleet, p *policy.Policy)) situation {
	return situation{nodes: func(p *policy.Policy) *fleet {
		f := fleetOf(nodeReport("n-1", p, time.Now(), 2))
		change(f, p)
		return f
	}}
}

var errNo = errors.New("no")

// addresses contains all reasons that conditions report.
var addresses = []address{
	{"author of the policy", "Ready=False", byReason + ", `Ready`", "SunsetPolicyNotReady", 15, map[string]situation{
		"EvaluationFailed": {facts: map[string]policy.Facts{"a": {Selected: true, Err: errNo}}},
		"RuleInvalid": {p: func(p *policy.Policy) {
			p.Problems = []policy.Problem{{Path: "spec.rules[0].ttl", Message: "missing"}}
			p.Rules[0].Problems = p.Problems
		}},
		"KindNotFound": troubled("KindNotFound"), "AggregatedAPI": troubled("AggregatedAPI"),
		"RulesTooLarge": nodesThat(func(f *fleet, p *policy.Policy) { f.missing = map[types.UID]bool{p.UID: true} }),
	}},
	{"cluster operator", "Ready=False", byReason + ", `Ready`", "SunsetPolicyNotReady", 15, map[string]situation{
		"Forbidden": troubled("Forbidden"), "ListFailed": troubled("ListFailed"), "Stale": {doubt: errors.New("clock skew")},
		"ReferencesUnknown":  {p: func(p *policy.Policy) { p.Rules[0].Relations = policy.AsksReferences }},
		"LedgerUnavailable":  {ledger: &ledgers.State{WriteError: errNo}},
		"EntriesUnread":      {ledger: &ledgers.State{Ledger: kept(), ReadError: errNo, Doubtful: 3, FreeAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"ArchiveUnavailable": {unarchived: errNo, p: func(p *policy.Policy) { p.Rules[0].Archive = &policy.Archive{To: "history"} }},
		"NoAgents":           {nodes: func(*policy.Policy) *fleet { return fleetOf() }},
		"AgentsSilent":       {nodes: func(p *policy.Policy) *fleet { return fleetOf(silent(nodeReport("n-1", p, time.Now(), 2))) }},
		"RulesNotWritten":    nodesThat(func(f *fleet, _ *policy.Policy) { f.unwritten = errNo }),
	}},
	{"cluster operator", "Ready=Unknown", byReason + ", `Ready`", "SunsetPolicyNotReady", 15, map[string]situation{
		"LedgerNotRead": {ledger: &ledgers.State{}},
	}},
	{"author of the policy", "Enforcing=False", byReason + ", `LimitNotReached`", "SunsetLimitReached", 15, map[string]situation{
		"LimitReached": {p: func(p *policy.Policy) { p.Limits = &policy.Limits{Max: 20, Window: time.Hour} },
			ledger: &ledgers.State{Ledger: kept(), Waiting: 7, Charged: 20, FreeAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}},
	{"approver; or the author, who can change the policy", "Ready=False", "`ApprovalRequired`, `Ready`", "SunsetApprovalRequired", 15, map[string]situation{
		"ApprovalRequired": {p: waits}, "ChangeTooLarge": {p: waits}, "RequiredForAllChanges": {p: func(p *policy.Policy) { waits(p); p.Approval.AllChanges = true }},
	}},
	{"cluster operator", "Ready=Unknown", byReason + ", `Ready`", "SunsetPolicyStuck", 615, map[string]situation{
		"Listing":  {kind: unlisted},
		"Counting": {nodes: func(p *policy.Policy) *fleet { return fleetOf(behind(nodeReport("n-1", p, time.Now(), 2))) }},
	}},
	{"author of the policy", "Enforcing=False", byReason + ", `Resumed`", "SunsetPolicySuspended", 15, map[string]situation{
		"Suspended":   {p: inMode(v1alpha1.Suspend)},
		"Terminating": {p: func(p *policy.Policy) { inMode(v1alpha1.Suspend)(p); p.Terminating = true }},
	}},
	{"author of the policy, or of the policy that has the freeze", "Enforcing=False", byReason + ", `FreezeEnded`", "SunsetFreezeLasts", 15, map[string]situation{
		"Frozen": {p: frozen},
	}},
	{"author of the policy", "Enforcing=False", "", "", 5, map[string]situation{"OutsideWindows": {p: closed}}},
	{"team of the namespace", "Delayed=True", "`Delayed`, `NotDelayed`", "SunsetObjectsStay", 40, map[string]situation{
		"Refused": delayed("Refused"), "OwnerKept": delayed("OwnerKept"),
	}},
	{"cluster operator", "Delayed=True", "`Delayed`, `NotDelayed`", "SunsetObjectsStay", 40, map[string]situation{
		"NamespaceInDoubt": delayed("NamespaceInDoubt"), "Denied": delayed("Denied"), "Failing": delayed("Failing"),
		"ArchiveUnavailable": delayed("ArchiveUnavailable"), "SnapshotFailed": delayed("SnapshotFailed"),
		"SnapshotUnavailable": delayed("SnapshotUnavailable"),
	}},
	{"cluster operator", "Delayed=True", "`Delayed`, `NotDelayed`", "SunsetSnapshotsPending", 40, map[string]situation{
		"SnapshotPending": delayed("SnapshotPending"),
	}},
	{"author of the policy", "Delayed=True", "`Delayed`, `NotDelayed`", "SunsetObjectsStay", 40, map[string]situation{
		"OwnerWaits": delayed("OwnerWaits"),
	}},
	{"cluster operator", "Delayed=True", "`Delayed`, `NotDelayed`", "SunsetObjectsStay", 15, map[string]situation{
		"RuntimeUnreachable": obstacle(v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable"),
		"PodsUnknown":        obstacle(v1alpha1.ConditionPodsKnown, "PodsUnknown"),
		"RulesUnknown":       obstacle(v1alpha1.ConditionRulesKnown, "RulesUnknown"),
		"FilesystemUnseen":   obstacle(v1alpha1.ConditionFilesystemSeen, "FilesystemUnseen"),
	}},
	{"team of the namespace", "Enforcing=True", byReason + ", `NotThrottled`", "SunsetNamespacesThrottled", 15, map[string]situation{
		"Throttled": {kind: func(k *retention.KindState) { k.Throttled = []string{"team-a"} }},
	}},
	{"cluster operator", "Enforcing=True", "", "SunsetBacklogGrows", 5, map[string]situation{"Paced": {pace: 0.09}}},
	{"team of the namespace, author of the policy", byReason + "=True", byReason + ", " + byReason + "Resolved", "", 15, map[string]situation{
		"ManagedByArgoCD": flagged(policy.OfArgoCD), "ManagedByFlux": flagged(policy.OfFlux), "ManagedByHelm": flagged(policy.OfHelm),
		"ManagedByMultiKueue": flagged(policy.OfMultiKueue), "NoOwner": {p: func(p *policy.Policy) { p.Rules[0].Owner = true }},
	}},
	{"owner of what re-creates the objects", "Recreated=True", "`Recreated`, `RecreatedResolved`", "SunsetObjectsStay", 15, map[string]situation{
		"Recreated": {row: func(s *policy.Subject) { s.Flags = policy.IsRecreated }},
	}},
	{"author of the policy", "NoCommonWindow=True", "`NoCommonWindow`, `NoCommonWindowResolved`", "SunsetObjectsStay", 15, map[string]situation{
		"NoCommonWindow": neverTogether(),
	}},
	{"author of the other policy", "Blocked=True", "`Blocked`, `Unblocked`", "SunsetPolicyBlocked", 15, map[string]situation{
		"NoCommonWindow":   neverTogether(),
		"EvaluationFailed": {facts: map[string]policy.Facts{"b": {Selected: true, Err: errNo}}},
		"Suspended":        {q: inMode(v1alpha1.Suspend), facts: map[string]policy.Facts{"b": {Selected: true, Eligible: true}}},
		"RuleInvalid": {q: func(q *policy.Policy) {
			q.Problems = []policy.Problem{{Path: "spec.rules[0].ttl", Message: "missing"}}
			q.Rules[0].Problems = q.Problems
		}, facts: map[string]policy.Facts{"b": {Selected: true}}},
		"ReferencesUnknown": {facts: map[string]policy.Facts{"b": {Selected: true, Err: policy.ErrReferencesUnknown}}},
		"ApprovalRequired":  {q: func(q *policy.Policy) { q.Rules[0].Unapproved = true }, facts: map[string]policy.Facts{"b": {Selected: true, Eligible: true}}},
		"Forbidden":         {q: func(q *policy.Policy) { q.Rules[0].Unpermitted = true }},
		"Stale":             {q: func(q *policy.Policy) { q.Rules[0].Key = "no facts yet" }},
	}},
	{"author of the other policy", "Blocked=True", "", "", 5, map[string]situation{
		"KeptNewest": alsoDue(func(s *situation) { s.q = func(q *policy.Policy) { q.Rules[0].Keep = 1 } }),
		"NeverDue": alsoDue(func(s *situation) {
			s.q = func(q *policy.Policy) { q.Rules[0].HasTTLExpression = true }
			s.facts["b"] = policy.Facts{Selected: true, Eligible: true, Start: s.facts["b"].Start, TTL: policy.NeverTTL}
		}),
		"NoOwner": alsoDue(func(s *situation) { s.q = func(q *policy.Policy) { q.Rules[0].Owner = true } }),
		"Unmarked": alsoDue(func(s *situation) {
			s.facts["b"] = policy.Facts{Selected: true, Eligible: true, Start: s.facts["b"].Start, Estimated: true}
		}),
		"ManagedByArgoCD": managed(policy.OfArgoCD), "ManagedByFlux": managed(policy.OfFlux), "ManagedByHelm": managed(policy.OfHelm),
		"ManagedByMultiKueue": managed(policy.OfMultiKueue),
	}},
}

// frozen gives a policy a freeze.
func frozen(p *policy.Policy) {
	p.Freezes = []policy.Freeze{{By: "p", From: time.Date(1999, 12, 20, 0, 0, 0, 0, time.UTC), To: time.Date(2000, 1, 7, 8, 0, 0, 0, time.UTC), Reason: "year-end closing"}}
	p.Rules[0].Freezes = p.Freezes
}

// closed gives a policy windows, which are closed at midnight, when each bubble begins.
func closed(p *policy.Policy) { openAt("12", p) }

// openAt gives a policy windows that open at an hour, for an hour.
func openAt(hour string, p *policy.Policy) {
	fixture.OpenAt(hour)(p.Rules[0])
	p.Windows = p.Rules[0].Windows[0]
}

// neverTogether returns a scene in which the rules of p and q find the Job due, and their windows do not open at the same time.
func neverTogether() situation {
	return alsoDue(func(s *situation) { s.p, s.q = closed, func(q *policy.Policy) { openAt("20", q) } })
}

// alsoDue returns a scene in which the rule of q selects the Job, which is due by that rule.
func alsoDue(change func(*situation)) situation {
	s := situation{facts: map[string]policy.Facts{"b": yes(time.Now().Add(-24 * 365 * time.Hour))}}
	change(&s)
	return s
}

// managed returns a scene in which p allows objects that another controller manages, and q does not.
func managed(f policy.Flags) situation {
	return alsoDue(func(s *situation) {
		s.p = func(p *policy.Policy) { p.Rules[0].AllowManaged = true }
		s.row = func(s *policy.Subject) { s.Flags = f }
	})
}

// waits makes a policy wait for approval.
func waits(p *policy.Policy) {
	p.Hash, p.Gate, p.Rules[0].Unapproved = "h", everywhere, true
}

var update = flag.Bool("update", false, "write testdata/reasons.txt")

// TestEveryReasonIsReported: when a reason begins, a condition in the output of kubectl sunset status, a metric, an Event, a
// line of the log and an alert report it. When it ends, an Event and a line of the log report that. A reason that does not stop
// deletions has no Event. testdata/reasons.txt contains the texts.
func TestEveryReasonIsReported(t *testing.T) {
	const golden = "testdata/reasons.txt"
	alerts, said := alertsOf(t), ""
	for _, a := range addresses {
		said += fmt.Sprintf("# %s, for the %s\n", a.condition, a.who)
		for _, reason := range slices.Sorted(maps.Keys(a.scenes)) {
			s := a.scenes[reason]
			t.Run(a.condition+"/"+reason, func(t *testing.T) {
				of := strings.NewReplacer("`", "", byReason, reason)
				begins, ends, _ := strings.Cut(of.Replace(a.events), ", ")
				name, status, _ := strings.Cut(of.Replace(a.condition), "=")
				shown := reason
				if reason == "ChangeTooLarge" || reason == "RequiredForAllChanges" { // of the condition ApprovalRequired; Ready has that name as its reason
					shown = "ApprovalRequired"
				}
				inBubble(t, nil, func(t *testing.T, w *harness) {
					for _, p := range []string{"p", "q"} {
						w.store(&policy.Policy{Name: p, UID: types.UID("uid-" + p), Generation: 3}, noStatus)
					}
					w.put(situation{})
					bubble.Pass(time.Minute)
					expect.Equal(t, "Ready before", "True Ready", condition(w.status(), v1alpha1.ConditionReady))
					expect.Equal(t, "Events before", nil, w.events())
					w.put(s)
					bubble.Pass(5 * time.Second)
					expect.Equal(t, name, status+" "+shown, condition(w.status(), name))
					text := message(w.status(), name)
					said += fmt.Sprintf("%s: %s\n", reason, text)
					stops := slices.ContainsFunc(w.status().Conditions, func(c metav1.Condition) bool { return c.Type == name && v1alpha1.StopsDeletions(&c) && c.Message != "" })
					expect.Equal(t, "kubectl sunset status shows it", a.events != "", stops)
					expect.Equal(t, "metric", 1.0, gathered(t, "sunset_policy_condition")[fmt.Sprintf(" %s %s %s", name, shown, status)])
					bubble.Pass(time.Duration(a.seconds-5) * time.Second)
					if a.events == "" {
						bubble.Pass(time.Minute)
						expect.Equal(t, "Events about p", nil, slices.DeleteFunc(w.events(), func(e string) bool { return !strings.Contains(e, "/p ") }), cmpopts.EquateEmpty())
						return
					}
					expect.Equal(t, "Event and line of the log when it begins", text, reported(t, w, "Warning "+begins, "policy has a problem"))
					w.put(situation{})
					bubble.Pass(time.Minute)
					said += fmt.Sprintf("  then %s: %s\n", ends, reported(t, w, "Normal "+ends, "problem of policy has ended"))
				})
			})
		}
		if a.alert != "" && !slices.Contains(alerts, a.alert) {
			t.Errorf("alert %s does not exist", a.alert)
		}
	}
	expect.Golden(t, golden, said, *update)
}

// reported expects one Event about policy p of a type and reason, and one line of the log with the same text. It returns the
// text.
func reported(t *testing.T, w *harness, event, logged string) string {
	t.Helper()
	var found []string
	for _, e := range w.events() {
		if _, said, is := strings.Cut(e, "/p "+event+": "); is {
			found = append(found, said)
		}
	}
	if len(found) != 1 {
		t.Errorf("%d Events with %q in\n%s", len(found), event, strings.Join(w.events(), "\n"))
		return ""
	}
	_, reason, _ := strings.Cut(event, " ")
	line := fmt.Sprintf(`"policy"="p" "reason"=%q "message"=%q`, reason, found[0])
	expect.Equal(t, "lines of the log that say "+line, 1, strings.Count(strings.Join(w.log(logged), "\n"), line))
	return found[0]
}

func alertsOf(t *testing.T) (names []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "../../charts/sunset/files/alerts.yaml"), -1) {
		names = append(names, found[1])
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	expect.NoError(t, err)
	return string(data)
}

// verdicts are the reasons for decisions about single objects that no condition reports, and why not. The metric
// sunset_verdicts and kubectl sunset explain report them.
var verdicts = []struct {
	why    string
	scenes map[string]situation
}{
	{"an annotation holds the object, or the cluster needs it; `status.held` has the number", map[string]situation{"Held": flagged(policy.IsHeld)}},
	{"the rule is configured to keep these objects", map[string]situation{
		"KeptNewest":     {p: func(p *policy.Policy) { p.Rules[0].Keep = 1 }},
		"NeverDue":       {p: func(p *policy.Policy) { p.Rules[0].HasTTLExpression = true }, facts: withFacts(func(f *policy.Facts) { f.TTL = policy.NeverTTL })},
		"WithinCapacity": {p: capacity(1)},
		"NoStartTime":    {facts: withFacts(func(f *policy.Facts) { f.Start = time.Time{} })},
		"NotEligible":    {facts: withFacts(func(f *policy.Facts) { f.Eligible = false })},
	}},
	{"the object is not due yet, or Sunset deletes it now; `status.due` has the numbers", map[string]situation{
		"Waiting": {facts: withFacts(func(f *policy.Facts) { f.Start = time.Now() })},
		"Expired": {}, "OverCapacity": {p: capacity(0)},
	}},
	{"the author of windows or freezes intends it; `Enforcing` has it if it concerns the whole policy, and `status.due` has the numbers", map[string]situation{
		"Deferred": {p: frozen},
	}},
	{"it ends within seconds; if not, `Enforcing` or `Delayed` has the reason", map[string]situation{
		"Unmarked": {facts: withFacts(func(f *policy.Facts) { f.Estimated = true })},
	}},
	{"the object is already terminating, or waits for the Job controller: [SunsetPodsStayUncounted](../operations/runbook.md#sunsetpodsstayuncounted)", map[string]situation{
		"Terminating": flagged(policy.IsTerminating), "Uncounted": flagged(policy.IsUncounted),
	}},
	{"for images: the node needs the image, or may not be able to pull it again; see `kubectl sunset explain`", map[string]situation{
		"Pinned": flagged(policy.IsPinned), "InUse": flagged(policy.IsInUse),
		"Unpullable": {facts: withFacts(func(f *policy.Facts) { f.Unpullable = true })},
	}},
}

func flagged(f policy.Flags) situation {
	return situation{row: func(s *policy.Subject) { s.Flags = f }}
}

func withFacts(change func(*policy.Facts)) map[string]policy.Facts {
	f := yes(time.Now().Add(-2 * time.Hour))
	change(&f)
	return map[string]policy.Facts{"a": f}
}

func capacity(max int) func(*policy.Policy) {
	return func(p *policy.Policy) {
		p.Rules[0].TTL, p.Rules[0].Capacity = policy.NeverTTL, policy.Capacity{Bounded: true, Max: max}
	}
}

// elsewhere are reasons that require no action, and why not.
var elsewhere = map[string]string{
	"Ready": "normal", "AsExpected": "normal", "Valid": "normal", "Watching": "normal", "Enforcing": "normal",
	"Permitted": "normal", "ReferencesKnown": "normal", "Archiving": "normal",
	"DryRun":             "it is intended",
	"NotSelected":        "no rule is about the object",
	"PermissionsUnknown": "it ends with the first answer of the API server, or becomes Forbidden with its error",
	"StateNotKept":       "images expire later, but deletions continue; the NodeImageReport shows it",
}

func TestEveryVerdictIsCounted(t *testing.T) {
	for _, v := range verdicts {
		for reason, s := range v.scenes {
			runInBubble(t, reason, nil, func(t *testing.T, w *harness) {
				w.store(&policy.Policy{Name: "p", UID: "uid-p", Generation: 3}, noStatus)
				w.put(s)
				bubble.Pass(5 * time.Second)
				expect.Equal(t, "metric", map[string]float64{" Job.batch " + reason: 1}, gathered(t, "sunset_verdicts"))
			})
		}
	}
}

const onlyExplained = `
Reasons of single objects that no condition has:

| reasons | why only ` + "`kubectl sunset explain`" + ` shows them |
|---|---|
`

// TestTableOfReasons checks that docs/reference/events-and-alerts.md has the generated table, and that this contains every reason.
// test/runbook_test.go compares the reasons with the code.
func TestTableOfReasons(t *testing.T) {
	page := read(t, "../../docs/reference/events-and-alerts.md")
	known := map[string]bool{}
	for reason := range elsewhere {
		known[reason] = true
	}
	want := "| reasons | who can act | condition | Events | alert | seconds |\n|---|---|---|---|---|---|\n"
	row := func(scenes map[string]situation, cells ...string) {
		reasons := slices.Sorted(maps.Keys(scenes))
		for i, reason := range reasons {
			known[reason] = true
			reasons[i] = "`" + reason + "`"
		}
		want += "| " + strings.Join(append([]string{strings.Join(reasons, ", ")}, cells...), " | ") + " |\n"
	}
	for _, a := range addresses {
		of := strings.NewReplacer(byReason+"Resolved", "the reason and `Resolved`", byReason, "the reason", "`"+byReason+"`", "the reason")
		name, status, _ := strings.Cut(a.condition, "=")
		events, alert := cmp.Or(a.events, "none"), "none"
		if a.alert != "" {
			alert = fmt.Sprintf("[%s](../operations/runbook.md#%s)", a.alert, strings.ToLower(a.alert))
		}
		row(a.scenes, a.who, of.Replace(fmt.Sprintf("`%s` is %s", name, status)), of.Replace(events), alert, fmt.Sprint(a.seconds))
	}
	want += onlyExplained
	for _, v := range verdicts {
		row(v.scenes, v.why)
	}
	if !strings.Contains(page, want) {
		t.Errorf("docs/reference/events-and-alerts.md does not have this table:\n%s", want)
	}
	_, tables, _ := strings.Cut(read(t, "../../docs/reference/conditions-and-reasons.md"), "\n| reason | of |")
	tables += read(t, "../../docs/reference/verdicts.md")
	all := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(tables, -1)
	for _, found := range all {
		if !known[found[1]] {
			t.Errorf("no table says where reason %s is reported", found[1])
		}
	}
	for _, reason := range policy.Reasons() {
		if !known[string(reason)] {
			t.Errorf("no table says where reason %s of a verdict is reported", reason)
		}
	}
	if len(all) < 60 {
		t.Errorf("only %d reasons were found", len(all))
	}
}

// TestDelayedObjects: a pending snapshot hides no other reason of the condition, and the metric counts objects by reason.
func TestDelayedObjects(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.store(&policy.Policy{Name: "p", UID: "uid-p", Generation: 3}, noStatus)
		w.put(situation{kind: func(k *retention.KindState) {
			pending := retention.Delay{Policy: "p", Namespace: "team-a", Name: "x", Reason: retention.SnapshotPending, Message: "no"}
			missing := retention.Delay{Policy: "p", Namespace: "team-b", Name: "y", Reason: retention.SnapshotUnavailable, Message: "no"}
			k.Delayed, k.Delays = 3, func(time.Time) []retention.Delay { return []retention.Delay{pending, missing} }
			k.Obstacles = func() map[types.UID]retention.Delay {
				return map[types.UID]retention.Delay{"x": pending, "y": missing, "z": pending}
			}
		}})
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "condition", "True SnapshotUnavailable", condition(w.status(), v1alpha1.ConditionDelayed))
		expect.Equal(t, "metric", map[string]float64{" Job.batch SnapshotPending": 2, " Job.batch SnapshotUnavailable": 1}, gathered(t, "sunset_delayed_objects"))
	})
}

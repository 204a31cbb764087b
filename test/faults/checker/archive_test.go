// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const archives = ", archive: {to: history}"

// record adds a record of a version to the archive, read back now.
func (p *past) record(s *history.State, adjust ...func(*history.Record)) {
	r := history.Record{Segment: "segments/x", Policy: "p", Rule: "r", Object: *s.DeepCopy(), Verified: p.clock}
	for _, a := range adjust {
		a(&r)
	}
	if p.evidence.Archives == nil {
		p.evidence.Archives = map[string]*history.Archive{"history": {}}
	}
	a := p.evidence.Archives["history"]
	a.Records = append(a.Records, r)
}

// ends adds a result of a version to the archive.
func (p *past) ends(s *history.State, result string) {
	a := p.evidence.Archives["history"]
	a.Results = append(a.Results, history.ArchiveResult{Result: result, UID: s.GetUID(), ResourceVersion: s.GetResourceVersion()})
}

func TestArchive(t *testing.T) {
	// recorded deletes an object after adjust has recorded it.
	recorded := func(ruled string, record func(*past, *history.State)) func(*past) {
		return func(p *past) {
			of := p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x", "labels: {a: b}")
			p.wait(2 * time.Minute)
			if ruled != "" {
				p.ledger(of, 0, 0, x)
			}
			record(p, x)
			p.wait(time.Second)
			p.sunset(x)
		}
	}
	plain := func(p *past, x *history.State) { p.record(x) }
	unarchived, invented := broken(checker.Archived), broken(checker.Archived, checker.Recorded)
	tell(t, map[string]example{
		"a record that was read back":     {tell: recorded(archives, plain)},
		"no archive":                      {tell: recorded(archives, func(*past, *history.State) {}), want: unarchived},
		"a rule that does not archive":    {tell: recorded("", func(*past, *history.State) {})},
		"a record that was not read back": {tell: recorded(archives, func(p *past, x *history.State) { p.record(x, func(r *history.Record) { r.Verified = time.Time{} }) }), want: unarchived},
		"a record that was read back late": {tell: recorded(archives, func(p *past, x *history.State) {
			p.record(x, func(r *history.Record) { r.Verified = p.clock.Add(time.Minute) })
		}), want: unarchived},
		"a record of another version": {tell: recorded(archives, func(p *past, x *history.State) {
			p.record(x, func(r *history.Record) { r.Object.SetResourceVersion("1") })
		}), want: invented},
		"a record of another object": {tell: recorded(archives, func(p *past, x *history.State) {
			p.record(x, func(r *history.Record) { r.Object.SetUID("other") })
		}), want: invented},
		"a record with other content": {tell: recorded(archives, func(p *past, x *history.State) {
			p.record(x, func(r *history.Record) { r.Object.SetLabels(map[string]string{"a": "c"}) })
		}), want: invented},
		"a record that was redacted": {tell: recorded(", archive: {to: history, redact: [metadata.labels.a]}", func(p *past, x *history.State) {
			p.record(x, func(r *history.Record) { r.Object.SetLabels(map[string]string{"a": "REDACTED"}) })
		})},
		"a record of an object that is kept too": {tell: recorded(archives, func(p *past, x *history.State) {
			p.record(p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: y, annotations: {sunset-k8s.io/hold: "true"}}}`))
			p.record(x)
		})},
		"a refused DELETE without a record": {tell: func(p *past) {
			p.policy("p", "Enforce", "", archives)
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.request(x, 409, withPreconditions(x))
		}, want: unarchived},
	})
}

func TestRecordsOfAnArchive(t *testing.T) {
	// kept records an object that stays.
	kept := func(adjust func(*history.Record)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", archive: {to: history, redact: [data.a]}")
			x := p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x}, data: {a: b}}`)
			p.record(x, func(r *history.Record) { r.Object.Object["data"] = map[string]any{"a": "REDACTED"} }, adjust)
		}
	}
	wrong := broken(checker.Recorded)
	tell(t, map[string]example{
		"as the rule says":             {tell: kept(func(*history.Record) {})},
		"not read back":                {tell: kept(func(r *history.Record) { r.Verified = time.Time{} })},
		"not redacted":                 {tell: kept(func(r *history.Record) { r.Object.Object["data"] = map[string]any{"a": "b"} }), want: wrong},
		"a version that never existed": {tell: kept(func(r *history.Record) { r.Object.SetResourceVersion("1") }), want: wrong},
		"a rule that does not exist":   {tell: kept(func(r *history.Record) { r.Rule = "another" }), want: wrong},
		"a dependent is added":         {tell: kept(func(r *history.Record) { r.Dependents = append(r.Dependents, r.Object) }), want: wrong},
		"as another version of the rule says": {tell: func(p *past) {
			kept(func(r *history.Record) { r.Object.Object["data"] = map[string]any{"a": "b"} })(p)
			p.policy("p", "Enforce", "", archives)
		}},
	})
}

func TestResultsOfAnArchive(t *testing.T) {
	deleted := func(result ...string) func(*past) {
		return func(p *past) {
			of := p.policy("p", "Enforce", "", archives)
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.ledger(of, 0, 0, x)
			p.record(x)
			p.wait(time.Second)
			p.sunset(x)
			for _, r := range result {
				p.ends(x, r)
			}
		}
	}
	exists := func(result string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", archives)
			x := p.configMap("x")
			p.record(x)
			p.ends(x, result)
		}
	}
	wrong := broken(checker.Recorded)
	tell(t, map[string]example{
		"a deletion without a result":     {tell: deleted()},
		"a deletion that is recorded":     {tell: deleted("deleted")},
		"a deletion of unknown result":    {tell: deleted("unknown")},
		"a deletion that kept":            {tell: deleted("kept"), want: wrong},
		"a deletion that kept before":     {tell: deleted("kept", "deleted")},
		"an object that exists, kept":     {tell: exists("kept")},
		"an object that exists, deleted":  {tell: exists("deleted"), want: wrong},
		"an object that exists, and gone": {tell: exists("gone"), want: wrong},
	})
}

func TestSumsOfAnArchive(t *testing.T) {
	// two deletes two objects, both recorded and the first with a result, and has a ledger in the end.
	two := func(ruled string, second []string, end func(*past, *history.State, []*history.State)) func(*past) {
		return func(p *past) {
			of := p.policy("p", "Enforce", "", ruled)
			all := p.configMaps(2)
			p.wait(2 * time.Minute)
			p.ledger(of, 0, 0, all...)
			for _, x := range all {
				p.record(x)
			}
			p.wait(time.Second)
			for _, x := range all {
				p.sunset(x)
			}
			p.ends(all[0], "deleted")
			for _, result := range second {
				p.ends(all[1], result)
			}
			end(p, of, all)
		}
	}
	counts := func(deleted, gone int) func(*past, *history.State, []*history.State) {
		return func(p *past, of *history.State, _ []*history.State) { p.ledger(of, deleted, gone) }
	}
	opened := func(deleted int) func(*past, *history.State, []*history.State) {
		return func(p *past, of *history.State, all []*history.State) { p.ledger(of, deleted, 0, all[1]) }
	}
	others := func(p *past, of *history.State, all []*history.State) {
		p.policy("another", "DryRun", "", archives)
		p.record(all[1], func(r *history.Record) { r.Policy = "another" })
		p.ledger(of, 1, 0)
	}
	wrong := broken(checker.Recorded)
	tell(t, map[string]example{
		"as many":                                {tell: two(archives, []string{"deleted"}, counts(2, 0))},
		"as many, one of them gone":              {tell: two(archives, []string{"gone"}, counts(1, 1))},
		"several results of one version":         {tell: two(archives, []string{"unknown", "deleted", "gone"}, counts(2, 0))},
		"counted without a result":               {tell: two(archives, nil, counts(2, 0)), want: wrong},
		"counted, and absent in the archive":     {tell: two(archives, []string{"absent"}, counts(2, 0)), want: wrong},
		"deleted in the archive and not counted": {tell: two(archives, []string{"deleted"}, counts(1, 0)), want: wrong},
		"deleted in the archive and still open":  {tell: two(archives, []string{"deleted"}, opened(1))},
		"open, without a result":                 {tell: two(archives, nil, opened(1))},
		"recorded by another policy too":         {tell: two(archives, []string{"deleted"}, others)},
		"a rule that does not archive any more": {tell: two(archives, nil, func(p *past, of *history.State, _ []*history.State) {
			p.policy("p", "Enforce", "", "")
			p.ledger(of, 2, 0)
		})},
	})
}

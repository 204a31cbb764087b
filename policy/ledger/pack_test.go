// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestOpenIsGroupedInAStableOrder(t *testing.T) {
	s := newStore(t)
	k := s.machine("first")
	pod := entry("p", "3")
	pod.Kind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	other := entry("o", "4")
	other.Namespace = "another"
	fine := entry("f", "5")
	fine.Outcome = ""
	s.write(k, entry("b", "2"), pod, other, fine, entry("a", "1"))

	want := []v1alpha1.LedgerIntents{
		{Rule: "old", APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Objects: []string{"f uid-f 5"}},
		{Rule: "old", Outcome: "failed", APIVersion: "v1", Kind: "Pod", Namespace: "ns", Objects: []string{"p uid-p 3"}},
		{Rule: "old", Outcome: "failed", APIVersion: "batch/v1", Kind: "Job", Namespace: "another", Objects: []string{"o uid-o 4"}},
		{Rule: "old", Outcome: "failed", APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Objects: []string{"a uid-a 1", "b uid-b 2"}},
	}
	expect.Equal(t, "open", want, s.ledger.Open)
}

func TestFullLedgerIsSmall(t *testing.T) {
	s := newStore(t)
	k := s.machine("first")
	d := k.NewUpdate(s.now)
	for i := range d.Room(s.now, nil) {
		e := entry(fmt.Sprintf("nightly-report-%05d", i), fmt.Sprint(12345678+i))
		e.UID = uuid.NewUUID()
		if !d.Open(e) {
			t.Fatal(e)
		}
	}
	text, err := json.Marshal(d.Object())
	expect.NoError(t, err)
	if len(text) > 36_000 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestMachineRefusesUnreadableLedgers(t *testing.T) {
	open := func(change func(*v1alpha1.LedgerIntents)) func(*v1alpha1.RetentionLedger) {
		return func(o *v1alpha1.RetentionLedger) {
			group := v1alpha1.LedgerIntents{Rule: "old", APIVersion: "batch/v1", Kind: "Job", Objects: []string{"a uid-a 1"}}
			change(&group)
			o.Open = append(o.Open, group)
		}
	}
	line := func(text string) func(*v1alpha1.RetentionLedger) {
		return open(func(g *v1alpha1.LedgerIntents) { g.Objects = append(g.Objects, text) })
	}
	for want, change := range map[string]func(*v1alpha1.RetentionLedger){
		`open[0].objects[1]: "" is not`:                           line(""),
		`open[0].objects[1]: "b uid-b" is not`:                    line("b uid-b"),
		`open[0].objects[1]: "b uid-b " is not`:                   line("b uid-b "),
		`open[0].objects[1]: " uid-b 1" is not`:                   line(" uid-b 1"),
		`open[0].objects[1]: "a uid-a 1" and "a uid-a 1" are the`: line("a uid-a 1"),
		`open[0].objects[1]: "a uid-a 1" and "a uid-a 2" are the`: line("a uid-a 2"),
		`open[0].apiVersion: `:                                    open(func(g *v1alpha1.LedgerIntents) { g.APIVersion = "a/b/c" }),
		`open[0]: apiVersion, kind or rule`:                       open(func(g *v1alpha1.LedgerIntents) { g.Kind = "" }),
		`spent[0]: -1`: func(o *v1alpha1.RetentionLedger) {
			o.Spent = []v1alpha1.LedgerSpending{{EndTime: at(0), Count: -1}}
		},
		`spent[0]: 1 until`: func(o *v1alpha1.RetentionLedger) { o.Spent = []v1alpha1.LedgerSpending{{Count: 1}} },
	} {
		t.Run(want, func(t *testing.T) {
			s, e := newStore(t), entry("z", "1")
			k := s.machine("first")
			s.write(k, e)
			bad := s.ledger.DeepCopy()
			bad.ResourceVersion, bad.Open = "99", nil
			change(bad)
			if err := k.Read(bad); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Read: %v, want %s", err, want)
			}
			if k.NewUpdate(s.now).Object() != nil || k.MarkSent(e.Target) {
				t.Error("the machine continues with an unreadable ledger")
			}
			s.read(k)
			s.send(k, e, ledger.Deleted) // after the ledger is fixed
			s.write(k)
			s.is(1, 0)
		})
	}
}

func TestUpdateOpensNoInvalidEntries(t *testing.T) {
	for name, spoil := range map[string]func(*ledger.Entry){
		"no name":            func(e *ledger.Entry) { e.Name = "" },
		"no UID":             func(e *ledger.Entry) { e.UID = "" },
		"no version":         func(e *ledger.Entry) { e.ResourceVersion = "" },
		"a space in the UID": func(e *ledger.Entry) { e.UID = "a b" },
		"no kind":            func(e *ledger.Entry) { e.Kind.Kind = "" },
		"no version of API":  func(e *ledger.Entry) { e.Kind.Version = "" },
		"no rule":            func(e *ledger.Entry) { e.Rule = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStore(t), entry("a", "1")
			d := s.machine("first").NewUpdate(s.now)
			d.Room(s.now, nil)
			spoil(&e)
			if d.Open(e) {
				t.Errorf("%+v is opened", e)
			}
		})
	}
}

// FuzzRoundTrip opens any entries, and another leader must read the same entries.
func FuzzRoundTrip(f *testing.F) {
	f.Add("old", "failed", "batch", "v1", "Job", "ns", "a", "0b5f", "7", "b", "1c2d")
	f.Add("old", "", "", "v1", "Pod", "", "a b", "0b5f", "7", " ", "0b5f")
	f.Add("r", "*", "x/y", "v 1", "K", "n", "", " ", "", "a", "\n")
	f.Fuzz(func(t *testing.T, rule, outcome, group, version, kind, namespace, name, uid, resourceVersion, name2, uid2 string) {
		s := newStore(t)
		k := s.machine("first")
		d := k.NewUpdate(s.now)
		d.Room(s.now, nil)
		var opened []ledger.Entry
		for _, other := range [][2]string{{name, uid}, {name2, uid2}} {
			e := ledger.Entry{Rule: rule, Outcome: outcome, Target: policy.Target{
				Kind:      schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
				Namespace: namespace, Name: other[0], UID: types.UID(other[1]), ResourceVersion: resourceVersion}}
			if utf8.ValidString(fmt.Sprint(e)) && d.Open(e) {
				opened = append(opened, e)
			}
		}
		text, err := json.Marshal(d.Object())
		expect.NoError(t, err)
		var read v1alpha1.RetentionLedger
		expect.NoError(t, json.Unmarshal(text, &read))
		read.ResourceVersion = "3"
		k.Wrote(d, &read)
		for _, e := range opened {
			if !k.MarkSent(e.Target) {
				t.Errorf("%+v is not open", e)
			}
		}
		s.ledger = &read
		found := s.machine("second").Doubtful()
		byUID := func(a, b ledger.Entry) int { return strings.Compare(string(a.UID), string(b.UID)) }
		slices.SortFunc(found, byUID)
		slices.SortFunc(opened, byUID)
		expect.Equal(t, "found", opened, found)
	})
}

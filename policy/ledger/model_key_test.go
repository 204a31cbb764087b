// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"hash/maphash"
	"slices"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// key identifies a state: states with the same key continue in the same way. It has resourceVersions of the ledger only as far as
// they matter: updates made from an earlier ledger can only conflict.
type key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (w *modelState) key() key {
	b := w.appendKey(make([]byte, 0, 512))
	return key{maphash.Bytes(seeds[0], b), maphash.Bytes(seeds[1], b)}
}

func (w *modelState) appendKey(b []byte) []byte {
	n := w.left
	for _, v := range []int{n.leaders, n.losses, n.refusals, n.edits, n.removals, n.births, n.whims, n.opens, n.lapses, n.lies, w.clock % lapse, w.holders, w.touched} {
		b = append(b, byte(v))
	}
	b = appendThings(b, w.things)
	for i := range w.born {
		f := w.fates[i]
		b = append(b, flags(f.ours, f.others, f.doubted), byte(f.at%lapse), byte(f.at/lapse))
		if w.archives {
			b = append(b, f.version)
		}
	}
	if w.archives {
		b = w.archived.appendKey(b)
	}
	b = appendLedger(b, w.ledger)
	for _, l := range w.leaders {
		b = l.appendKey(b, w.ledger)
		if w.bounds.lapses > 0 && l.alive {
			b = l.machine.AppendAges(b, start)
			for _, k := range l.looks {
				b = append(b, byte(k.began.Sub(start)/ledger.RequestLife))
			}
		}
	}
	return w.appendRequests(b)
}

func appendThings(b []byte, things [maxThings]thing) []byte {
	for _, t := range things {
		b = append(b, t.uid, t.version, flags(t.terminating, t.finalizer))
	}
	return b
}

func flags(all ...bool) byte {
	var b byte
	for i, f := range all {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func appendLedger(b []byte, o *v1alpha1.RetentionLedger) []byte {
	b = append(append(b, o.Holder...), '/')
	for _, rule := range o.Rules {
		counts := make([]byte, maxUIDs)
		for _, outcome := range rule.Outcomes {
			counts[outcome.Name[0]-'A'] = byte(outcome.Deleted<<4 | outcome.Gone)
		}
		b = append(b, counts...)
	}
	for _, group := range o.Open {
		for _, line := range group.Objects {
			b = append(append(b, line...), ',')
		}
	}
	for _, s := range o.Spent {
		b = append(b, byte(s.EndTime.Sub(start)%ledger.RequestLife/tick)+100, byte(s.EndTime.Sub(start)/ledger.RequestLife), byte(s.Count))
	}
	return append(b, '.')
}

func (l *leader) appendKey(b []byte, current *v1alpha1.RetentionLedger) []byte {
	b = append(b, flags(l.alive, l.blind, l.sealed, l.listed), flags(l.seen[:]...))
	if !l.alive {
		return b
	}
	b = l.machine.AppendKey(appendThings(b, l.known), current)
	b = append(b, flags(l.whims[:]...))
	looks := make([]string, 0, len(l.looks))
	for _, k := range l.looks {
		looks = append(looks, string(k.entry.UID)+k.entry.ResourceVersion+string(k.sight.UID)+k.sight.ResourceVersion+
			string(rune(flags(k.sight.Absent, k.sight.Terminating, k.settling, k.settled))))
	}
	slices.Sort(looks)
	for _, k := range looks {
		b = append(append(b, k...), ';')
	}
	for _, e := range l.ended {
		b = append(b, e.UID...)
	}
	b = l.archiver.appendKey(b)
	return append(b, '!')
}

// appendRequests appends the requests, independent of the order in which they were sent.
func (w *modelState) appendRequests(b []byte) []byte {
	all := make([]string, 0, len(w.requests))
	for _, r := range w.requests {
		one := []byte{byte(r.from), flags(r.orphan, r.done, r.isWrite(), r.isIndex())}
		switch {
		case r.isIndex():
			one = appendFindings(one, r.findings)
		case r.isDelete():
			one = append(append(append(one, byte(r.name), byte(r.answer)), r.target.UID...), r.target.ResourceVersion...)
		case r.done && r.stored == nil, !r.done && r.object.ResourceVersion != w.ledger.ResourceVersion && r.object.ResourceVersion != "":
			one = append(one, 'x')
		case r.done && r.stored.ResourceVersion == w.ledger.ResourceVersion:
			one = append(one, 'k')
		default:
			one = appendLedger(one, r.object)
		}
		all = append(all, string(one))
	}
	slices.Sort(all)
	for _, one := range all {
		b = append(append(b, one...), ';')
	}
	return b
}

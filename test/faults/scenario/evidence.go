// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// window is the second within which a change applies, plus the time that a busy machine may take between a replica's decision
// and the arrival of its request at the proxy. It is longer if all other tests run at the same time.
func window() time.Duration {
	if long() {
		return time.Second + 300*time.Millisecond
	}
	return 4 * time.Second
}

// renews is how long a replica leads at least after it renewed its lease, in any scenario.
const renews = 4 * time.Second

// settles is how long a new leader may take until it has seen all objects.
const settles = 5 * time.Second

// evidence returns the evidence about the scenario's replicas, which have all ended.
func (s *Scenario) evidence(ctx context.Context, ended time.Time) (e checker.Evidence, err error) {
	if e.Requests, err = s.requests(ctx); err != nil {
		return e, err
	}
	if e.Log, err = s.plane.history.Read(ctx, s.Cluster.URL(cluster.Etcd), "/registry/"); err != nil {
		return e, err
	}
	sent := map[string]time.Time{}
	e.Paces = map[string]checker.Pace{}
	e.Lossy = s.options.Alone || s.options.Own
	for _, r := range s.all() {
		e.Users = append(e.Users, r.User)
		e.Requests = r.complete(e.Requests)
		for _, entry := range r.Proxy.Journal() {
			sent[entry.ID] = entry.At
			e.Lossy = e.Lossy || isLossy(entry)
		}
		e.Lossy = e.Lossy || r.endedViolently()
		e.AllowKinds = append(e.AllowKinds, s.allowed(r.start.Flags)...)
		r.paced(e.Paces)
	}
	e.Sees = func(policy *history.State) bool { return policy.GetLabels()[scenarioLabel] == s.Namespace }
	e.Sent = func(r history.Request) time.Time {
		if at, known := sent[r.ID]; known {
			return at
		}
		return r.Received
	}
	e.Window, e.Late, e.Quiet, e.Ended = cmp.Or(s.options.Window, window()), stalled.before, s.quiet, ended
	e.Protected = []string{"kube-system", "kube-public", "kube-node-lease", s.Home}
	e.Unled = gaps(span{From: s.began, To: ended}, s.led())
	e.Undisturbed = s.undisturbed(ended)
	e.Archives, e.Logs = map[string]*history.Archive{}, s.logs
	for _, a := range s.archives {
		if e.Archives[a.Name], err = a.read(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// mostPatient is the longest time that a replica waits for an answer.
const mostPatient = 10 * time.Second

// isLossy reports whether a write may have been applied without its sender knowing.
func isLossy(e proxy.Entry) bool {
	wrote := e.Forwarded && e.Verb != "get" && e.Verb != "list" && e.Verb != "watch"
	return wrote && (e.Code != e.Answered || e.Code == 0 || e.Code >= 500 || e.Done.Sub(e.At) > mostPatient)
}

func (r *Replica) endedViolently() bool {
	return slices.ContainsFunc(r.lives, func(l life) bool { return l.violent })
}

// allowed returns the kinds of --allow-kinds.
func (s *Scenario) allowed(flags []string) (kinds []schema.GroupKind) {
	for _, flag := range flags {
		if names, ok := strings.CutPrefix(flag, "--allow-kinds="); ok {
			for name := range strings.SplitSeq(names, ",") {
				kinds = append(kinds, schema.ParseGroupKind(name)) // the controller has validated it
			}
		}
	}
	return kinds
}

// led returns the periods in which a replica was certainly leader and had seen all objects.
func (s *Scenario) led() (spans []span) {
	for _, r := range s.all() {
		leases := r.leases()
		for _, l := range r.lives {
			if len(leases) == 0 { // without leader election
				spans = append(spans, l.awake(settles)...)
				continue
			}
			var renewed []time.Time
			for _, e := range leases {
				if e.At.After(l.from) && e.At.Before(l.to) {
					renewed = append(renewed, e.At)
				}
			}
			spans = append(spans, chained(renewed, renews, settles)...)
		}
	}
	return spans
}

// awake returns the periods in which a process ran. Each starts some time after the process started or resumed.
func (l life) awake(after time.Duration) (spans []span) {
	for _, part := range gaps(span{From: l.from, To: l.to}, l.stood) {
		if from := part.From.Add(after); from.Before(part.To) {
			spans = append(spans, span{From: from, To: part.To})
		}
	}
	return spans
}

// recovers is how long a replica may need after a disturbance until it works normally.
const recovers = 10 * time.Second

// undisturbed returns the periods with a leader in which no proxy, clock or server was disturbed. Only exclusive scenarios
// disturb whole servers: for them it returns nothing.
func (s *Scenario) undisturbed(ended time.Time) []span {
	if s.options.Alone {
		return nil
	}
	disturbed := gaps(span{From: s.began, To: ended}, s.led())
	for _, r := range s.all() {
		if r.start.Clock != nil || r.start.Groups != nil {
			return nil
		}
		for _, d := range r.Proxy.Disturbed(ended) {
			disturbed = append(disturbed, span{From: d.From, To: d.To.Add(recovers)})
		}
		for _, l := range r.lives {
			for _, stood := range l.stood {
				disturbed = append(disturbed, span{From: stood.From, To: stood.To.Add(recovers)})
			}
		}
	}
	for _, a := range s.archives {
		disturbed = append(disturbed, a.disturbed(ended)...)
	}
	return gaps(span{From: s.began, To: ended}, disturbed)
}

// paced adds the replica's --max-deletions-per-second, if it is set.
func (r *Replica) paced(all map[string]checker.Pace) {
	for _, flag := range r.start.Flags {
		if rate, ok := strings.CutPrefix(flag, "--max-deletions-per-second="); ok {
			perSecond, _ := strconv.ParseFloat(rate, 64) // the controller has validated it
			all[r.User] = checker.Pace{PerSecond: perSecond, Processes: len(r.lives)}
		}
	}
}

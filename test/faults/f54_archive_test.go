// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
	"github.com/sunset-k8s/sunset/test/stores"
)

// archiving is previews with an archive.
func archiving(mode v1alpha1.Mode, a *scenario.Archive) string {
	return previews(mode, "0s") + "  archive: {to: " + a.Name + "}\n"
}

// TestF54TheStoreOfAnArchiveFails makes the store of an archive fail. Sunset deletes nothing of the policy that archives there, and says
// so; another policy continues. After the fault, all objects are archived, deleted and counted.
func TestF54TheStoreOfAnArchiveFails(t *testing.T) {
	t.Parallel()
	const segments = "/segments/"
	for name, fault := range map[string]struct {
		match func(method, name string) bool
		fault func(*scenario.Archive) stores.Fault
		mark  func(*testing.T)
	}{
		"it cannot be reached":                       {nil, always(stores.Down), scenario.Long}, // TestArchiveWithoutItsStoreKeeps is short
		"it answers success and writes nothing":      {stores.Writes(segments), always(stores.Swallowing), scenario.Short},
		"it does not answer":                         {nil, always(stores.Slow(time.Hour)), scenario.Long},
		"its credentials are revoked":                {nil, always(stores.Refusing(http.StatusForbidden, "InvalidAccessKeyId")), scenario.Long},
		"it is full":                                 {stores.Writes(segments), always(stores.Refusing(http.StatusInsufficientStorage, "InsufficientStorage")), scenario.Long},
		"it asks to slow down":                       {stores.Writes(segments), always(stores.Refusing(http.StatusServiceUnavailable, "SlowDown")), scenario.Long},
		"it answers success and writes half":         {stores.Writes(segments), halved, scenario.Long},
		"reads end in the middle":                    {stores.Reads(segments), always(stores.Torn), scenario.Long},
		"reads have half of the object":              {stores.Reads(segments), always(stores.Short), scenario.Long},
		"reads have another bit":                     {stores.Reads(segments), always(stores.Flipped), scenario.Long},
		"reads are forbidden":                        {stores.Reads(segments), always(stores.Refusing(http.StatusForbidden, "AccessDenied")), scenario.Long},
		"what was written is not found":              {stores.Reads(segments), always(stores.Refusing(http.StatusNotFound, "NoSuchKey")), scenario.Long},
		"answers to writes are lost, and reads fail": {nil, always(stores.Unanswered), scenario.Long},
	} {
		t.Run(name, func(t *testing.T) {
			fault.mark(t)
			s := scenario.New(t, scenario.Options{})
			a := s.Archive("history")
			leads, waits := pair(s, scenario.Start{})
			archived := s.Policy("archived", archiving("Enforce", a))
			s.Policy("plain", labelled("plain", "Enforce", "0s"))
			s.Gone(s.ConfigMap("before", preview))
			byLedger(s, archived, 1)

			began := time.Now()
			armed := a.Expect(s, a.Proxy.Arm(fault.match, fault.fault(a)))
			all := configMaps(s, "cm", 10, preview)
			s.Eventually(func() error { return cluster.Want(armed.Fired() > 0, "no request to the store matched") })
			s.Gone(s.ConfigMap("plain", map[string]string{"env": "plain"}))
			s.Stays(4*time.Second, all[0], all[9])
			tells(s, archived, v1alpha1.ConditionArchiving, "ArchiveUnavailable")
			if sent := since(began, leads.Deletes()); len(sent) > 1 {
				t.Errorf("%d DELETEs, want only the one of the other policy", len(sent))
			}
			armed.Lift()
			atMost(s, preview, 0)
			byLedger(s, archived, 11)
			idle(t, waits)
			s.Calm()
		})
	}
}

func always(f stores.Fault) func(*scenario.Archive) stores.Fault {
	return func(*scenario.Archive) stores.Fault { return f }
}

// halved is a store that loses the second half of what it writes.
func halved(a *scenario.Archive) stores.Fault {
	return stores.Keeping(func(name string, data []byte) {
		if whole, err := store.Open(context.Background(), a.Store.URL(""), a.Store.Credentials); err == nil {
			_ = whole.Write(context.Background(), name, data[:len(data)/2]) // reading it back fails
			_ = whole.Close()
		}
	})
}

// TestF54TheStoreIsSlowForAWhile delays each request to the store. Objects are archived and deleted more slowly, and all are counted.
func TestF54TheStoreIsSlowForAWhile(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	a := s.Archive("history")
	_, waits := pair(s, scenario.Start{})
	p := s.Policy("archived", archiving("Enforce", a))
	s.Gone(s.ConfigMap("before", preview))
	slow := a.Expect(s, a.Proxy.Arm(nil, stores.Slow(3*time.Second)))
	configMaps(s, "slow", 10, preview)
	atMost(s, preview, 0)
	slow.Lift()
	configMaps(s, "after", 10, preview)
	atMost(s, preview, 0)
	byLedger(s, p, 21)
	idle(t, waits)
	s.Calm()
}

// TestF54CredentialsAreRevokedAndReplaced revokes the credentials in the store, writes wrong ones to the Secret, and then valid ones.
// Sunset deletes nothing until it has read the valid ones.
func TestF54CredentialsAreRevokedAndReplaced(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	a := s.Archive("history")
	leads, _ := pair(s, scenario.Start{})
	p := s.Policy("archived", archiving("Enforce", a))
	s.Gone(s.ConfigMap("before", preview))
	byLedger(s, p, 1)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Home, Name: "history"}}
	revoked := a.Expect(s, a.Proxy.Arm(nil, stores.Refusing(http.StatusForbidden, "InvalidAccessKeyId")))
	all := configMaps(s, "cm", 10, preview)
	tells(s, p, v1alpha1.ConditionArchiving, "ArchiveUnavailable")
	s.Change(secret, func() { secret.Data["AWS_SECRET_ACCESS_KEY"] = []byte("wrong") })
	reads := leads.Proxy.Record(proxy.Requests("get", "secrets"))
	s.Eventually(func() error { return cluster.Want(len(reads()) > 1, "the Secret was not read again") }) // the first may have no answer yet
	refused := a.Expect(s, a.Proxy.Arm(nil, stores.Slow(0)))                                              // the store itself refuses: this only notes for how long
	revoked.Lift()
	s.Eventually(func() error { return cluster.Want(refused.Fired() > 0, "no request with the wrong credentials") })
	s.Stays(4*time.Second, all[0], all[9])
	tells(s, p, v1alpha1.ConditionArchiving, "ArchiveUnavailable")
	s.Change(secret, func() { secret.Data = a.Store.Credentials })
	atMost(s, preview, 0)
	refused.Lift()
	byLedger(s, p, 11)
	s.Calm()
}

// TestF54TheClockStepsWhileItArchives steps the clock of Sunset two hours ahead and back. In the meantime, Sunset deletes nothing.
// Afterwards, it archives, deletes and counts all objects.
func TestF54TheClockStepsWhileItArchives(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	a := s.Archive("history")
	clock := build.NewClock(t)
	s.Sunset(scenario.Start{Clock: clock})
	p := s.Policy("archived", archiving("Enforce", a))
	s.Gone(s.ConfigMap("before", preview))
	byLedger(s, p, 1)
	clock.Step(2 * time.Hour)
	tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew")
	all := configMaps(s, "cm", 10, preview)
	s.Stays(4*time.Second, all[0], all[9])
	clock.Step(-2 * time.Hour)
	s.Touch(all[0]) // triggers a check of the clock, which otherwise happens once a minute
	atMost(s, preview, 0)
	byLedger(s, p, 11)
	s.Calm()
}

// TestF55TheLeaderIsKilledWhileItArchives kills the leader at a request to the store. The other replica takes over: all objects are
// archived, deleted and counted, and nothing is deleted without a record.
func TestF55TheLeaderIsKilledWhileItArchives(t *testing.T) {
	t.Parallel()
	const indexes = "/index/20" // with the year: not a probe
	for name, at := range map[string]struct {
		match func(method, name string) bool
		after bool // the store has carried out the request
		mark  func(*testing.T)
	}{
		"before a segment is written":    {stores.Writes("/segments/"), false, scenario.Long},
		"after a segment is written":     {stores.Writes("/segments/"), true, scenario.Short},
		"before a segment is read back":  {stores.Reads("/segments/"), false, scenario.Long},
		"after a segment is read back":   {stores.Reads("/segments/"), true, scenario.Long},
		"before the index is written":    {stores.Writes(indexes), false, scenario.Long},
		"after the index is written":     {stores.Writes(indexes), true, scenario.Long},
		"before an old index is deleted": {stores.Deletes(indexes), false, scenario.Long},
	} {
		t.Run(name, func(t *testing.T) {
			at.mark(t)
			s := scenario.New(t, scenario.Options{})
			a := s.Archive("history")
			leads, _ := pair(s, scenario.Start{Failover: true})
			armed := a.Expect(s, a.Proxy.Arm(at.match, killing(leads, at.after)))
			p := s.Policy("archived", archiving("Enforce", a))
			n := 10
			configMaps(s, "cm", n, preview)
			s.Eventually(func() error { // the index is written now and then
				if armed.Fired() == 0 {
					s.ConfigMap(fmt.Sprint("more-", n), preview)
					n++
				}
				return cluster.Want(armed.Fired() > 0, "no request to the store matched") // on a slow machine, of another leader
			})
			armed.Lift()
			s.Eventually(func() error { return left(s, preview, 0) })
			byLedger(s, p, int64(n))
			s.Calm()
		})
	}
}

// killing kills a replica at its first request to a store, and cuts the connection.
func killing(r *scenario.Replica, after bool) stores.Fault {
	return func(w http.ResponseWriter, request *http.Request, store http.Handler) {
		if !r.Running() {
			store.ServeHTTP(w, request)
			return
		}
		if !after {
			r.Kill()
			stores.Down(w, request, store)
		}
		defer r.Kill()
		stores.Unanswered(w, request, store)
	}
}

// TestF55TheLeaderIsKilledBetweenRecordAndDelete kills the leader at the first DELETE, before and after the API server has it. The other
// replica archives what is left again, and what was deleted counts once.
func TestF55TheLeaderIsKilledBetweenRecordAndDelete(t *testing.T) {
	t.Parallel()
	for m, mark := range map[moment]func(*testing.T){
		{"delete", "configmaps", 1, false}: scenario.Long,
		{"delete", "configmaps", 1, true}:  scenario.Short,
		{"delete", "configmaps", 7, true}:  scenario.Long,
	} {
		t.Run(m.String(), func(t *testing.T) {
			mark(t)
			s := scenario.New(t, scenario.Options{})
			a := s.Archive("history")
			leads, _ := pair(s, scenario.Start{Failover: true})
			armed := leads.Proxy.Arm(m.fault(leads))
			s.Expect(armed)
			p := s.Policy("archived", archiving("Enforce", a))
			configMaps(s, "cm", 20, preview)
			s.Eventually(func() error { return left(s, preview, 0) })
			armed.Lift()
			byLedger(s, p, 20)
			s.Calm()
		})
	}
}

// TestF56ObjectsChangeAfterTheyWereArchived changes objects that are recorded and wait for their turn: they are recorded again, and no
// DELETE names a version without a record.
func TestF56ObjectsChangeAfterTheyWereArchived(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	a := s.Archive("history")
	const n = 60
	all := configMaps(s, "cm", n, preview)
	p := s.Policy("archived", archiving("DryRun", a))
	s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=4"}})
	counted(s, p, n)
	s.Edit(p, enforces)
	s.Eventually(func() error {
		written := 0
		for _, e := range a.Proxy.Journal() {
			if stores.Reads("/segments/")(e.Method, e.Name) && e.Code == http.StatusOK {
				written++
			}
		}
		return cluster.Want(written > 0, "nothing is archived yet")
	})
	for _, cm := range all[2*n/3:] {
		s.Touch(cm)
	}
	s.Eventually(func() error { return left(s, preview, 0) })
	byLedger(s, p, n)
	s.Calm()
}

// TestF57TwoReplicasArchiveAtATime has two leaders, because a user gave them different namespaces. Rules that archive have a ledger, so
// that one of them ends; both write to the same archive without harm.
func TestF57TwoReplicasArchiveAtATime(t *testing.T) {
	scenario.Long(t)
	const backlog = 40
	s := scenario.New(t, scenario.Options{})
	a := s.Archive("history")
	elsewhere := s.More("elsewhere")
	one := s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=8"}})
	two := s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=8", "--namespace=" + elsewhere}})
	configMaps(s, "cm", backlog, preview)
	p := s.Policy("archived", archiving("Enforce", a))
	restarted := false
	s.Eventually(func() error {
		if !one.Running() && !two.Running() && !restarted { // once: on a busy machine both may lose their leases
			restarted = true
			one.Restart()
			two.Restart()
		}
		return cluster.Want(one.Running() != two.Running(), "both replicas run: want one, which holds the ledger")
	})
	again := one
	if one.Running() {
		again = two
	}
	again.Restart() // as a cluster does: the replica takes over the ledger
	s.Eventually(func() error { return left(s, preview, 0) })
	byLedger(s, p, backlog)
	expectPreconditions(t, append(one.Deletes(), two.Deletes()...))
	s.Calm()
}

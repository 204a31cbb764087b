// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF42TheLedgerCannotBeWritten makes writes of the ledger fail: Sunset deletes nothing of that policy, another policy
// continues, and the counts are exact afterwards.
func TestF42TheLedgerCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		fault proxy.Fault
		mark  func(*testing.T)
	}{
		"the API server fails":   {proxy.Fault{Answer: &proxy.Answer{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError}}, scenario.Short},
		"the write is forbidden": {proxy.Fault{Answer: &proxy.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}, scenario.Long},
		"the request is lost":    {proxy.Fault{Drop: proxy.Before}, scenario.Long},
		"every write conflicts":  {proxy.Fault{Answer: &proxy.Answer{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict}}, scenario.Long},
	} {
		t.Run(name, func(t *testing.T) {
			fault.mark(t)
			s := scenario.New(t, scenario.Options{})
			leads, waits := pair(s, scenario.Start{})
			exact := s.Policy("exact", previews("Enforce", "0s")+limited(100))
			s.Policy("plain", labelled("plain", "Enforce", "0s"))
			s.Gone(s.ConfigMap("before", preview))
			byLedger(s, exact, 1)

			fault.fault.Match = proxy.Requests("update", "retentionledgers")
			armed := leads.Proxy.Arm(fault.fault)
			s.Expect(armed)
			began := time.Now()
			all := configMaps(s, "cm", 10, preview)
			fired(s, armed)
			s.Gone(s.ConfigMap("plain", map[string]string{"env": "plain"}))
			s.Stays(4*time.Second, all[0], all[9])
			tells(s, exact, v1alpha1.ConditionEnforcing, "LedgerUnavailable")
			if sent := since(began, leads.Deletes()); len(sent) > 1 {
				t.Errorf("%d DELETEs, want only the one of the other policy", len(sent))
			}
			if tries := armed.Fired(); tries > 60 {
				t.Errorf("%d writes in a few seconds", tries)
			}
			armed.Lift()
			atMost(s, preview, 0)
			byLedger(s, exact, 11)
			idle(t, waits)
			s.Calm()
		})
	}
}

// TestF42TheLedgerIsWrittenAndTheResponseIsLost loses the answer of each write of the ledger. Sunset reads the ledger and finds its
// entries before it deletes anything.
func TestF42TheLedgerIsWrittenAndTheResponseIsLost(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	leads, _ := pair(s, scenario.Start{})
	p := s.Policy("exact", previews("Enforce", "0s")+limited(9))
	s.Gone(s.ConfigMap("before", preview))
	byLedger(s, p, 1)
	armed := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("update", "retentionledgers"), Drop: proxy.After})
	s.Expect(armed)
	configMaps(s, "cm", 10, preview)
	atMost(s, preview, 2)
	byLedger(s, p, 9)
	armed.Lift()
	tells(s, p, v1alpha1.ConditionEnforcing, "LimitReached")
	silent(t, time.Second, leads)
	s.Calm()
}

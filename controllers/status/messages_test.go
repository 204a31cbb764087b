// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestMessagesAreShort: of 64 rules that keep objects with long names, the message names only some.
func TestMessagesAreShort(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		keys, rules, facts := []string{}, []*policy.Rule{}, []policy.Facts{}
		for i := range 64 {
			name := fmt.Sprintf("r-%02d", i)
			keys, rules, facts = append(keys, name), append(rules, rule(name)), append(facts, yes(w.began.Add(-2*time.Hour)))
		}
		layout, e := index.NewColumns(keys...), compiledOf(policyOf(v1alpha1.Enforce, rules...))
		w.store(named(e, "p"), noStatus)
		x := index.New(fixture.Jobs.GroupKind(), func() {})
		x.SetSnapshot(e.Snapshot, time.Now())
		var rows []*index.FactRow
		for i := range 3 {
			name := fmt.Sprint(strings.Repeat("x", 250), i)
			rows = append(rows, index.NewFactRow(policy.Subject{Namespace: "team-a", Name: name, UID: types.UID(name), Flags: policy.OfFlux}, layout, facts...))
		}
		x.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: layout}, rows, time.Now())
		w.set(func() { w.kinds = []retention.KindState{{Index: x, Kind: fixture.Jobs}} })
		w.Use(e)
		bubble.Pass(10 * time.Second)
		said := message(w.status(), v1alpha1.ConditionManagedByFlux)
		if !strings.Contains(said, "rule r-02 keeps 3 Job") || strings.Contains(said, "rule r-03") || !strings.Contains(said, "; and 61 more rules: another controller") {
			t.Errorf("the message is %q", said)
		}
	})
}

// TestConditionMessagesAreTruncated: one long condition must not make the whole status invalid.
func TestConditionMessagesAreTruncated(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.store(&policy.Policy{Name: "p", UID: "uid-p"}, noStatus)
		w.put(situation{kind: func(k *retention.KindState) {
			k.Lost = &retention.SourceError{Reason: "ListFailed", Message: strings.Repeat("ä", 40_000)}
		}})
		bubble.Pass(10 * time.Second)
		for _, c := range w.status().Conditions {
			if len(c.Message) > policy.MaxConditionMessage || !utf8.ValidString(c.Message) {
				t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
			}
		}
		expect.Equal(t, "Watching", "False ListFailed", condition(w.status(), v1alpha1.ConditionWatching))
	})
}

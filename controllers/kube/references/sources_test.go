// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestSourcesAndReferencesAreCounted(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	to := func(kind references.Kind, names ...string) (all []references.Target) {
		for _, name := range names {
			all = append(all, references.Target{Kind: kind, Namespace: "n", Name: name})
		}
		return all
	}
	expect := func(when string, configMaps, secrets int, sources ...references.Source) {
		t.Helper()
		expect.Equal(t, when, sources, x.Sources(), cmpopts.EquateEmpty())
		if c, s := x.Len(configMap), x.Len(secret); c != configMaps || s != secrets {
			t.Errorf("%s: %d and %d references; want %d and %d", when, c, s, configMaps, secrets)
		}
	}
	x.Expect("Pod", configMap, secret)
	x.Expect("Ingress", secret)
	both, ofSecrets := []references.Kind{configMap, secret}, []references.Kind{secret}
	expect("before anything is listed", 0, 0,
		references.Source{From: "Ingress", About: ofSecrets, Doubted: ofSecrets}, references.Source{From: "Pod", About: both, Doubted: both})
	x.Replace("Ingress", nil)
	x.Replace("Pod", []references.Referrer{
		{UID: "1", Targets: append(to(configMap, "a", "b", "b"), to(secret, "a")...)}, {UID: "2"}, {UID: "3", Targets: to(configMap, "a")},
	})
	expect("listed", 3, 1, references.Source{From: "Ingress", About: ofSecrets}, references.Source{From: "Pod", About: both, Referrers: 3})
	x.Put("Pod", references.Referrer{UID: "1", Targets: to(configMap, "b")})
	x.Put("Pod", references.Referrer{UID: "2", Err: errors.New("unreadable"), Unread: ofSecrets})
	expect("changed", 2, 0, references.Source{From: "Ingress", About: ofSecrets}, references.Source{From: "Pod", About: both, Doubted: ofSecrets, Referrers: 3})
	x.Remove("Pod", "3")
	x.Forget("Ingress")
	expect("fewer", 1, 0, references.Source{From: "Pod", About: both, Doubted: ofSecrets, Referrers: 2})
	x.Forget("Pod")
	expect("none", 0, 0)
}

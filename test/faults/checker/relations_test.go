// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestMissingTargets(t *testing.T) {
	const site = `{apiVersion: example.com/v1, kind: Site, metadata: {namespace: a, name: shop}, spec: {configMap: %s}}`
	// The site names x, which exists for a while.
	after := func(named string, change func(p *past, site, x *history.State) *history.State, wait time.Duration) func(*past) {
		return func(p *past) {
			s := p.store(fmt.Sprintf(site, named)) // before the policy that declares what it names
			x := p.configMap("x")
			p.policy("p", "Enforce", `, references: [{from: {apiVersion: example.com/v1, kind: Site}, to: ConfigMap, names: "[object.spec.configMap]"}]`,
				", target: {apiVersion: example.com/v1, kind: Site}, eligible: \"targets.missing.exists(t, t.kind == 'ConfigMap' && t.name == 'x')\", ttl: 0s")
			p.wait(time.Hour)
			s = change(p, s, x)
			p.wait(wait)
			p.sunset(s)
		}
	}
	nothing := func(_ *past, s, _ *history.State) *history.State { return s }
	removed := func(p *past, s, x *history.State) *history.State { p.remove(x); return s }
	tell(t, map[string]example{
		"a target that exists":                  {tell: after("x", nothing, time.Hour), want: broken(checker.Allowed)},
		"a target that has long been missing":   {tell: after("x", removed, 31*time.Second)},
		"a target that is missing for a moment": {tell: after("x", removed, 20*time.Second), want: broken(checker.NotEarly)},
		"another object is missing":             {tell: after("other", nothing, time.Hour), want: broken(checker.Allowed)},
		"the name of a missing object is new": {tell: after("other", func(p *past, _, x *history.State) *history.State {
			p.remove(x)
			p.wait(time.Hour)
			return p.store(fmt.Sprintf(site, "x"))
		}, 31*time.Second)},
		"the target is created again": {tell: after("x", func(p *past, s, x *history.State) *history.State { p.remove(x); p.configMap("x"); return s }, time.Hour), want: broken(checker.Allowed)},
		"one of the same name in another place": {tell: after("x", func(p *past, s, x *history.State) *history.State {
			p.remove(x)
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: x}}`)
			return s
		}, time.Hour)},
	})
}

func TestSelected(t *testing.T) {
	after := func(pod string, change func(p *past, service, pod *history.State) *history.State, wait time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Service}, eligible: selected.count == 0, ttl: 0s")
			service := p.store(selecting("app: web"))
			user := p.store(pod)
			p.wait(time.Hour)
			service = change(p, service, user)
			p.wait(wait)
			p.sunset(service)
		}
	}
	const (
		pod      = `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: web, labels: {app: web, tier: front}}}`
		template = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: a, name: web}, spec: {replicas: 0, template: {metadata: {labels: {app: web}}}}}`
		other    = `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: web, labels: {app: other}}}`
		outside  = `{apiVersion: v1, kind: Pod, metadata: {namespace: b, name: web, labels: {app: web}}}`
	)
	nothing := func(_ *past, s, _ *history.State) *history.State { return s }
	removed := func(p *past, s, user *history.State) *history.State { p.remove(user); return s }
	relabelled := func(p *past, s, _ *history.State) *history.State { p.store(pod); return s }
	reselected := func(p *past, _, _ *history.State) *history.State { return p.store(selecting("app: none")) }
	tell(t, map[string]example{
		"a Pod with the labels":                   {tell: after(pod, nothing, time.Hour), want: broken(checker.Allowed)},
		"a template with the labels":              {tell: after(template, nothing, time.Hour), want: broken(checker.Allowed)},
		"a Pod with other labels":                 {tell: after(other, nothing, time.Hour)},
		"a Pod in another namespace":              {tell: after(outside, nothing, time.Hour)},
		"a Pod that was deleted":                  {tell: after(pod, removed, 31*time.Second)},
		"a Pod that was deleted a moment ago":     {tell: after(pod, removed, 20*time.Second), want: broken(checker.NotEarly)},
		"a Pod that got the labels":               {tell: after(other, relabelled, time.Hour), want: broken(checker.Allowed)},
		"another selector":                        {tell: after(pod, reselected, 31*time.Second)},
		"another selector since a moment ago":     {tell: after(pod, reselected, 20*time.Second), want: broken(checker.NotEarly)},
		"another selector, which matched nothing": {tell: after(other, reselected, time.Second)},
	})
}

func selecting(labels string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {namespace: a, name: web}, spec: {selector: {%s}}}`, labels)
}

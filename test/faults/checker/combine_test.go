// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestSeveralPolicies(t *testing.T) {
	beside := func(mode, more, ruled string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			p.policy("q", mode, more, ruled)
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.sunset(x)
		}
	}
	tell(t, map[string]example{
		"one with a shorter TTL":                     {tell: beside("Enforce", "", ", ttl: 1s")},
		"one with a longer TTL":                      {tell: beside("Enforce", "", ", ttl: 1h"), want: broken(checker.NotEarly)},
		"a dry run with a longer TTL":                {tell: beside("DryRun", "", ", ttl: 1h")},
		"a suspended one":                            {tell: beside("Suspend", "", ""), want: broken(checker.Allowed)},
		"a suspended one for other namespaces":       {tell: beside("Suspend", ", excludeNamespaces: [a]", "")},
		"a suspended one for other namespace labels": {tell: beside("Suspend", ", namespaceSelector: {matchLabels: {x: y}}", "")},
		"one without a TTL for the object":           {tell: beside("Enforce", "", ", ttlExpression: optional.none()"), want: broken(checker.Allowed)},
		"one whose expression fails":                 {tell: beside("Enforce", "", ", eligible: object.x == 1"), want: broken(checker.Allowed)},
		"one for which it is not eligible":           {tell: beside("Enforce", "", ", eligible: 'false'")},
		"one with an unknown field":                  {tell: beside("Enforce", ", excludeNamespace: [a]", ""), want: broken(checker.Allowed)},
		"a variable":                                 {tell: beside("Enforce", ", variables: [{name: nothing, expression: 'false'}, {name: fails, expression: object.x}]", ", eligible: variables.nothing")},
	})
}

func TestOverrides(t *testing.T) {
	under := func(mode, overrides, ruled string, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", ttl: 1m"+ruled)
			p.store(fmt.Sprintf(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {mode: %s, overrides: [%s]}}`, mode, overrides))
			x := p.configMap("x")
			p.wait(after)
			p.sunset(x)
		}
	}
	const minute = time.Minute
	tell(t, map[string]example{
		"a longer TTL":                          {tell: under("DryRun", "{policy: p, ttl: 1h}", "", 2*minute), want: broken(checker.NotEarly)},
		"a longer TTL, at its end":              {tell: under("DryRun", "{policy: p, ttl: 1h}", "", 60*minute)},
		"a longer TTL for another rule":         {tell: under("DryRun", "{policy: p, rule: other, ttl: 1h}", "", 2*minute)},
		"a shorter TTL that the rule forbids":   {tell: under("Enforce", "{policy: p, ttl: 1s}", "", minute/2), want: broken(checker.NotEarly)},
		"a shorter TTL that the rule allows":    {tell: under("Enforce", "{policy: p, ttl: 1s}", ", overrideBounds: {minTTL: 1s}", minute/2)},
		"a shorter TTL of a dry run":            {tell: under("DryRun", "{policy: p, ttl: 1s}", ", overrideBounds: {minTTL: 1s}", minute/2), want: broken(checker.NotEarly)},
		"a longer TTL than the rule allows":     {tell: under("Enforce", "{policy: p, ttl: 1h}", ", overrideBounds: {maxTTL: 2m}", 2*minute)},
		"two TTLs, the longer applies":          {tell: under("Enforce", "{policy: p, ttl: 1h}, {policy: p, ttl: 2m}", "", 3*minute), want: broken(checker.NotEarly)},
		"a suspension":                          {tell: under("DryRun", "{policy: p, suspend: true}", "", 60*minute), want: broken(checker.Allowed)},
		"a suspension that the rule forbids":    {tell: under("DryRun", "{policy: p, suspend: true}", ", overrideBounds: {allowSuspend: false}", minute)},
		"an invalid override":                   {tell: under("DryRun", "{policy: p, ttl: soon}", "", 60*minute), want: broken(checker.Allowed)},
		"an invalid override of another policy": {tell: under("DryRun", "{policy: q, ttl: soon}", "", 60*minute)},
		"an unknown field":                      {tell: under("DryRun", "{policy: q, ttl: 1h}], overides: [{policy: p, ttl: 1h}", "", 60*minute), want: broken(checker.Allowed)},
		"a higher keepNewest":                   {tell: under("DryRun", "{policy: p, keepNewest: {count: 1}}", "", 60*minute), want: broken(checker.Allowed)},
	})
}

func TestRulesOfANamespace(t *testing.T) {
	own := func(role string) func(*past) {
		return func(p *past) {
			p.store(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: a, name: r}, rules: [` + role + `]}`)
			p.store(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: a, name: b}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, namespace: a, name: cleaner}]}`)
			text := p.policyText("t", "Enforce", ", serviceAccountName: cleaner", "")
			p.store(strings.Replace(strings.Replace(text, "ClusterRetentionPolicy", "RetentionPolicy", 1), "{name: t}", "{namespace: a, name: t}", 1))
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.sunset(x)
		}
	}
	tell(t, map[string]example{
		"with all permissions":              {tell: own(`{apiGroups: [""], resources: [configmaps], verbs: [list, delete]}`)},
		"without one permission":            {tell: own(`{apiGroups: [""], resources: [configmaps], verbs: [delete]}`), want: broken(checker.Allowed)},
		"with permissions for another kind": {tell: own(`{apiGroups: [""], resources: [secrets], verbs: ["*"]}`), want: broken(checker.Allowed)},
	})
}

func TestRanks(t *testing.T) {
	among := func(ruled string, which int, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			var all []*history.State
			for i := range 3 {
				all = append(all, p.configMap(fmt.Sprint("x", i), fmt.Sprintf("labels: {app: g%d}", i%2)))
				p.wait(time.Second)
			}
			p.wait(after)
			p.sunset(all[which])
		}
	}
	byLabel := `, keepNewest: {count: 1, groupBy: object.metadata.labels.app}`
	tell(t, map[string]example{
		"not among the newest two":                 {tell: among(", keepNewest: {count: 2}", 0, time.Hour)},
		"among the newest two":                     {tell: among(", keepNewest: {count: 2}", 1, time.Hour), want: broken(checker.Allowed)},
		"the older of a group":                     {tell: among(byLabel, 0, time.Hour)},
		"the only one of a group":                  {tell: among(byLabel, 1, time.Hour), want: broken(checker.Allowed)},
		"beyond the capacity, before its TTL ends": {tell: among(", ttl: 1h, capacity: {max: 2}", 0, time.Second)},
		"within the capacity, before its TTL ends": {tell: among(", ttl: 1h, capacity: {max: 2}", 1, time.Second), want: broken(checker.NotEarly)},
	})
}

func TestMarks(t *testing.T) {
	// The object was eligible; if between is true, it was not eligible for a second.
	marked := func(between bool, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", `, marked, eligible: "object.metadata.labels.old == 'yes'"`)
			object := func(old string) string {
				return `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, labels: {old: "` + old + `"}, annotations: {sunset-k8s.io/eligible-since: '{"r":"2026-03-01T12:00:02Z"}'}}}`
			}
			p.wait(time.Second)
			p.configMap("x", `labels: {old: "yes"}`)
			p.store(object("yes"), us)
			p.wait(30 * time.Second)
			if between {
				p.store(object("no"))
				p.wait(time.Second)
			}
			x := p.store(object("yes"))
			p.wait(after)
			p.sunset(x)
		}
	}
	tell(t, map[string]example{
		"always eligible":                            {tell: marked(false, 45*time.Second)},
		"mark not due":                               {tell: marked(false, 10*time.Second), want: broken(checker.NotEarly)},
		"in use for a second, due again":             {tell: marked(true, time.Minute)},
		"in use for a second, with the earlier mark": {tell: marked(true, 45*time.Second), want: broken(checker.NotEarly)},
		"in use without a leader": {tell: func(p *past) {
			p.evidence.Unled = []checker.Span{{From: p.clock.Add(29 * time.Second), To: p.clock.Add(40 * time.Second)}}
			marked(true, 45*time.Second)(p)
		}},
		"without a mark": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", marked")
				x := p.configMap("x")
				p.wait(time.Hour)
				p.sunset(x)
			},
			want: broken(checker.Allowed),
		},
	})
}

// TestManagedObjectsNeedAllowManaged deletes objects that other controllers manage, with and without allowManaged.
func TestManagedObjectsNeedAllowManaged(t *testing.T) {
	with := func(rule, metadata string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", rule)
			x := p.configMap("x", metadata)
			p.wait(2 * time.Minute)
			p.sunset(x)
		}
	}
	const allowed = ", delete: {allowManaged: true}"
	tracked := func(name string) string {
		return `annotations: {argocd.argoproj.io/tracking-id: "app:/ConfigMap:a/` + name + `"}`
	}
	tell(t, map[string]example{
		"by Argo CD":                             {tell: with("", tracked("x")), want: broken(checker.Allowed)},
		"by Argo CD, allowed":                    {tell: with(allowed, tracked("x"))},
		"with the tracking ID of another object": {tell: with("", tracked("y"))},
		"with an invalid tracking ID":            {tell: with("", `annotations: {argocd.argoproj.io/tracking-id: x}`), want: broken(checker.Allowed)},
		"a hook of Helm":                         {tell: with("", `annotations: {helm.sh/hook: test}`), want: broken(checker.Allowed)},
		"by MultiKueue":                          {tell: with("", `labels: {kueue.x-k8s.io/multikueue-origin: m}`), want: broken(checker.Allowed)},
		"by Flux":                                {tell: with("", `labels: {kustomize.toolkit.fluxcd.io/name: m}`), want: broken(checker.Allowed)},
		"of a Helm chart, not a hook":            {tell: with("", `labels: {app.kubernetes.io/managed-by: Helm}`)},
	})
}

func TestOwners(t *testing.T) {
	owned := func(what, ended, annotations string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", delete: {target: Owner"+what+"}")
			job := p.store(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: j, annotations: {` + annotations + `}}, status: {conditions: [{type: Complete, status: "` + ended + `", lastTransitionTime: "2026-03-01T12:00:00Z"}]}}`)
			p.configMap("x", `ownerReferences: [{controller: true, apiVersion: batch/v1, kind: Job, name: j, uid: `+string(job.GetUID())+`}]`)
			p.wait(2 * time.Minute)
			p.sunset(job)
		}
	}
	const held = `annotations: {sunset-k8s.io/hold: "true"}`
	// An object of a Job changes some time before the DELETE of the Job arrives, which was in flight for a while.
	changed := func(selector, into string, before, underWay time.Duration) func(*past) {
		return func(p *past) {
			p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-underWay) }
			p.policy("p", "Enforce", "", fmt.Sprintf(", target: {apiVersion: v1, kind: ConfigMap%s}, delete: {target: Owner}", selector))
			job := p.store(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: j}, status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-03-01T12:00:00Z"}]}}`)
			owner := `ownerReferences: [{controller: true, apiVersion: batch/v1, kind: Job, name: j, uid: ` + string(job.GetUID()) + `}]`
			p.configMap("x", owner)
			p.wait(2 * time.Minute)
			p.configMap("x", owner, into)
			p.wait(before)
			p.sunset(job)
		}
	}
	tell(t, map[string]example{
		"a finished owner":                           {tell: owned("", "True", "")},
		"an unfinished owner":                        {tell: owned("", "False", ""), want: broken(checker.Allowed)},
		"an unfinished owner, which the rule allows": {tell: owned(", allowUnfinishedOwner: true", "False", "")},
		"a held owner":                               {tell: owned("", "True", `sunset-k8s.io/hold: "true"`), want: broken(checker.HeldStays)},
		"the object instead of its owner": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", delete: {target: Owner}, target: {apiVersion: v1, kind: Service}")
				x := p.store(`{apiVersion: v1, kind: Service, metadata: {namespace: a, name: x, ownerReferences: [{controller: true, apiVersion: batch/v1, kind: Job, name: j, uid: u}]}}`)
				p.wait(2 * time.Minute)
				p.sunset(x)
			},
			want: broken(checker.Allowed),
		},
		"an owner that another rule keeps": {
			tell: func(p *past) {
				p.policy("q", "Suspend", "", ", target: {apiVersion: batch/v1, kind: Job}")
				owned("", "True", "")(p)
			},
			want: broken(checker.Allowed),
		},
		"an owner of an object that is held for three seconds":             {tell: changed("", held, 3*time.Second, 0), want: broken(checker.Allowed)},
		"an owner of an object that is held for half a second":             {tell: changed("", held, 500*time.Millisecond, 0)},
		"an owner of an object that is held while the DELETE is in flight": {tell: changed("", held, time.Second, 5*time.Second)},
		"an owner of an object that is selected while the DELETE is in flight": {
			tell: changed(", selector: {matchLabels: {go: 'yes'}}", `labels: {go: "yes"}`, time.Second, 5*time.Second), want: broken(checker.Allowed),
		},
	})
}

func TestReferences(t *testing.T) {
	used := func(pod string, until, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", eligible: references.count == 0, ttl: 0s")
			x := p.configMap("x")
			user := p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: user}, spec: {` + pod + `}}`)
			p.wait(until)
			if after >= 0 {
				p.remove(user)
				p.wait(after)
			}
			p.sunset(x)
		}
	}
	const mounted, hour, never = `volumes: [{projected: {sources: [{configMap: {name: x}}]}}]`, time.Hour, -1
	tell(t, map[string]example{
		"no reference any more":                      {tell: used(mounted, hour, 31*time.Second)},
		"a reference that ended a moment ago":        {tell: used(mounted, hour, 20*time.Second), want: broken(checker.NotEarly)},
		"a reference from a volume":                  {tell: used(mounted, hour, never), want: broken(checker.Allowed)},
		"a reference from an environment variable":   {tell: used(`containers: [{envFrom: [{configMapRef: {name: x, optional: true}}]}]`, hour, never), want: broken(checker.Allowed)},
		"a reference to a Secret with the same name": {tell: used(`volumes: [{secret: {secretName: x}}]`, hour, never)},
		"created a moment ago":                       {tell: used("", 20*time.Second, never), want: broken(checker.NotEarly)},
	})
}

func TestDeclaredReferences(t *testing.T) {
	declared := func(expression string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", ", references: [{from: {apiVersion: example.com/v1, kind: Site}, to: ConfigMap, names: '"+expression+"'}]",
				", eligible: references.count == 0, ttl: 0s")
			x := p.configMap("x")
			p.store(`{apiVersion: example.com/v1, kind: Site, metadata: {namespace: a, name: shop}, spec: {configMap: x}}`)
			p.wait(time.Hour)
			p.sunset(x)
		}
	}
	tell(t, map[string]example{
		"one that names another object": {tell: declared("[object.metadata.name]")},
		"one that names the object":     {tell: declared("[object.spec.configMap]"), want: broken(checker.Allowed)},
		"one that fails":                {tell: declared("[object.spec.secret]"), want: broken(checker.Allowed)},
	})
}

// TestUnknownIsNotChecked uses a function that the checker does not implement, and windows that it does not know: the result is
// neither valid nor a violation.
func TestUnknownIsNotChecked(t *testing.T) {
	for name, policy := range map[string][2]string{
		"a function":                         {"", ", eligible: 'configMapsIn(object) == []'"},
		"windows that do not open each week": {", windows: [{schedule: '0 0 1 3 *', duration: 1d}]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			p.policy("p", "Enforce", policy[0], policy[1])
			x := p.configMap("x")
			p.wait(time.Hour)
			p.sunset(x)
			report := p.check()
			if len(report.NotChecked) != 1 || len(report.Violations) != 0 || report.Err() == nil {
				t.Errorf("%s", report)
			}
		})
	}
}

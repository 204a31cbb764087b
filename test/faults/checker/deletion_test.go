// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestForm(t *testing.T) {
	orphan := func(o *metav1.DeleteOptions) { o.PropagationPolicy = ptr.To(metav1.DeletePropagationOrphan) }
	deleted := func(ruled string, adjust ...func(*metav1.DeleteOptions)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.sunset(x, adjust...)
		}
	}
	tell(t, map[string]example{
		"a DELETE with all preconditions": {tell: deleted("")},
		"without a resourceVersion": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions.ResourceVersion = nil }),
			want: broken(checker.Fenced),
		},
		"without a UID": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions.UID = nil }),
			want: broken(checker.Fenced),
		},
		"without preconditions": {tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions = nil }), want: broken(checker.Fenced)},
		"without a propagation policy": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.PropagationPolicy = nil }),
			want: broken(checker.Fenced),
		},
		"with Orphan, which the rule does not set": {tell: deleted("", orphan), want: broken(checker.Fenced)},
		"with Orphan, which the rule sets":         {tell: deleted(", delete: {propagationPolicy: Orphan}", orphan)},
		"without Orphan, which the rule sets":      {tell: deleted(", delete: {propagationPolicy: Orphan}"), want: broken(checker.Fenced)},
	})
}

func TestModes(t *testing.T) {
	// after deletes an object some time after the policy's mode changed.
	after := func(mode string, d time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.policy("p", mode, "", "")
			p.wait(d)
			p.configMap("somebody-is-there")
			p.sunset(x)
		}
	}
	refused := func(mode string) func(*past) {
		return func(p *past) {
			p.policy("p", mode, "", "")
			x := p.configMap("x")
			p.wait(2 * time.Minute)
			p.request(x, 409, withPreconditions(x))
		}
	}
	tell(t, map[string]example{
		"a policy that was suspended half a second ago": {tell: after("Suspend", 500*time.Millisecond)},
		"a policy that was suspended long ago":          {tell: after("Suspend", 3*time.Second), want: broken(checker.Restrained, checker.Allowed)},
		"a policy that became a dry run long ago":       {tell: after("DryRun", 3*time.Second), want: broken(checker.Restrained, checker.Allowed)},
		"a refused DELETE":                              {tell: refused("Enforce")},
		"a refused DELETE of a dry run":                 {tell: refused("DryRun"), want: broken(checker.Restrained, checker.Allowed)},
		"a policy suspended within a longer window": {tell: func(p *past) {
			p.evidence.Window = 5 * time.Second
			after("Suspend", 3*time.Second)(p)
		}},
		"an object that no policy targets": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Secret}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.sunset(x)
			},
			want: broken(checker.Restrained, checker.Allowed),
		},
		"a refused DELETE of an object that no policy selects": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: old}}}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.request(x, 409, withPreconditions(x))
			},
			want: broken(checker.Restrained, checker.Allowed),
		},
		"a refused DELETE of an object that owns nothing": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Pod}, delete: {target: Owner}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.request(x, 409, withPreconditions(x))
			},
			want: broken(checker.Restrained, checker.Allowed),
		},
	})
}

func TestCheckDeletionsOfInternalObjects(t *testing.T) {
	deleted := func(text string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			p.sunset(p.store(text))
		}
	}
	ledger := func(of string) string {
		return `{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionLedger, metadata: {name: ` + of + `}}`
	}
	tell(t, map[string]example{
		"a lease":     {tell: deleted(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: a, name: x}}`), want: broken(checker.Restrained, checker.Untouched)},
		"an event":    {tell: deleted(`{apiVersion: v1, kind: Event, metadata: {namespace: a, name: x}}`), want: broken(checker.Restrained, checker.Allowed)},
		"an override": {tell: deleted(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: x}, spec: {}}`), want: broken(checker.Restrained, checker.Untouched)},
		"the ledger of a deleted policy": {tell: func(p *past) {
			q := p.policy("p", "Enforce", "", "")
			p.remove(q)
			deleted(ledger(string(q.GetUID())))(p)
		}},
		"the ledger of an existing policy": {
			tell: func(p *past) { deleted(ledger(string(p.policy("p", "Enforce", "", "").GetUID())))(p) },
			want: broken(checker.Exact),
		},
		"all leases": {
			tell: func(p *past) {
				p.note(history.Request{Verb: "deletecollection", User: us, Code: 200, Group: "coordination.k8s.io", Resource: "leases", Namespace: "a"})
			},
			want: broken(checker.Fenced),
		},
	})
}

func TestTime(t *testing.T) {
	after := func(d time.Duration, ruled string, more ...string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x", more...)
			p.wait(d)
			p.sunset(x)
		}
	}
	// late sends a DELETE after d, which the API server receives 5 seconds later.
	late := func(d time.Duration, ruled string, more ...string) func(*past) {
		return func(p *past) {
			p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-5 * time.Second) }
			after(d+5*time.Second, ruled, more...)(p)
		}
	}
	tell(t, map[string]example{
		"right after it was due":                {tell: after(time.Minute, "")},
		"a second early":                        {tell: after(59*time.Second, ""), want: broken(checker.NotEarly)},
		"a second early, but delayed in flight": {tell: late(59*time.Second, ""), want: broken(checker.NotEarly)},
		"in time, and delayed in flight":        {tell: late(time.Minute, "")},
		"a mark, a second early, but delayed in flight": {
			tell: late(59*time.Second, ", marked", `annotations: {sunset-k8s.io/eligible-since: '{"r":"2026-03-01T12:00:00Z"}'}`),
			want: broken(checker.NotEarly),
		},
		"a start time before the creation":                 {tell: after(30*time.Second, ", startTime: \"'2020-01-01T00:00:00Z'\""), want: broken(checker.NotEarly)},
		"a TTL by an expression":                           {tell: after(59*time.Second, ", ttlExpression: \"'30s'\"")},
		"a TTL expression without a value":                 {tell: after(time.Hour, ", ttlExpression: optional.none()"), want: broken(checker.Allowed)},
		"a longer TTL on the object":                       {tell: after(2*time.Minute, "", "annotations: {sunset-k8s.io/ttl: 1h}"), want: broken(checker.NotEarly)},
		"a shorter TTL on the object":                      {tell: after(30*time.Second, "", "annotations: {sunset-k8s.io/ttl: 1s}"), want: broken(checker.NotEarly)},
		"a shorter TTL on the object that the rule allows": {tell: after(30*time.Second, ", ttl: 1m, overrideBounds: {ttlAnnotation: WithinBounds, minTTL: 10s}", "annotations: {sunset-k8s.io/ttl: 1s}")},
		"an invalid TTL on the object":                     {tell: after(time.Hour, "", "annotations: {sunset-k8s.io/ttl: soon}"), want: broken(checker.Allowed)},
		"no start time":                                    {tell: after(time.Hour, ", startTime: optional.none()"), want: broken(checker.Allowed)},
		"an expression that fails":                         {tell: after(time.Hour, ", eligible: object.spec.missing"), want: broken(checker.Allowed)},
		"an expression that does not compile":              {tell: after(time.Hour, ", eligible: objekt.spec"), want: broken(checker.Allowed)},
		"an unknown field":                                 {tell: after(time.Hour, ", eligibel: true"), want: broken(checker.Allowed)},
		"an object that is not eligible":                   {tell: after(time.Hour, ", eligible: 'false'"), want: broken(checker.Allowed)},
		"another label":                                    {tell: after(time.Hour, ", target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: old}}}"), want: broken(checker.Restrained, checker.Allowed)},
	})
}

func TestObjects(t *testing.T) {
	stored := func(text string, ruled string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			x := p.store(text)
			p.wait(time.Hour)
			p.sunset(x)
		}
	}
	pods := `, target: {apiVersion: v1, kind: Pod}, eligible: finished(object), startTime: finishedAt(object)`
	pod := func(more string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: x` + more + `}, status: {phase: Succeeded, containerStatuses: [{state: {terminated: {finishedAt: "2026-03-01T12:00:00Z"}}}]}}`
	}
	tell(t, map[string]example{
		"a finished Pod": {tell: stored(pod(""), pods)},
		"a Pod that the Job controller has not counted": {tell: stored(pod(", finalizers: [batch.kubernetes.io/job-tracking]"), pods), want: broken(checker.Counted)},
		"a mirror Pod":            {tell: stored(pod(", annotations: {kubernetes.io/config.mirror: x}"), pods), want: broken(checker.Untouched)},
		"a hold":                  {tell: stored(pod(`, annotations: {sunset-k8s.io/hold: ""}`), pods), want: broken(checker.HeldStays)},
		"a hold with value false": {tell: stored(pod(`, annotations: {sunset-k8s.io/hold: "false"}`), pods)},
		"a terminating Pod":       {tell: stored(pod(`, deletionTimestamp: "2026-03-01T12:00:00Z"`), pods), want: broken(checker.NotTwice)},
		"kube-root-ca.crt":        {tell: stored(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: kube-root-ca.crt}}`, ""), want: broken(checker.HeldStays)},
		"a ConfigMap that a controller owns": {
			tell: stored(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, ownerReferences: [{controller: true, uid: u, kind: K, apiVersion: v1, name: o}]}}`, ""),
			want: broken(checker.HeldStays),
		},
		"a protected namespace": {
			tell: stored(`{apiVersion: v1, kind: Service, metadata: {namespace: kube-system, name: x}}`, ", target: {apiVersion: v1, kind: Service}"),
			want: broken(checker.Restrained, checker.Untouched),
		},
		"a protected kind": {
			tell: stored(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}}`, ", target: {apiVersion: v1, kind: PersistentVolume}"),
			want: broken(checker.Untouched),
		},
	})
}

func TestMoments(t *testing.T) {
	begin := func(p *past) {
		p.policy("p", "Enforce", "", "")
		p.configMap("x")
		p.wait(2 * time.Minute)
	}
	held := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], annotations: {sunset-k8s.io/hold: "true"}}}`
	tell(t, map[string]example{
		"a hold right before the DELETE": {
			tell: func(p *past) {
				begin(p)
				p.sunset(p.store(held))
			},
			want: broken(checker.HeldStays),
		},
		"a hold on a terminating object": {tell: func(p *past) {
			begin(p)
			x := p.configMap("x", "finalizers: [f]")
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], deletionTimestamp: "2026-03-01T12:02:00Z"}}`, us)
			p.requests = p.requests[:len(p.requests)-1] // This change was not a patch, but the DELETE below.
			p.request(x, 200, withPreconditions(x))
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], deletionTimestamp: "2026-03-01T12:02:00Z", annotations: {sunset-k8s.io/hold: "true"}}}`)
		}},
		"a hold on the namespace half a second ago": {tell: func(p *past) {
			begin(p)
			x := p.configMap("x")
			p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset-k8s.io/hold: "true"}}}`)
			p.wait(500 * time.Millisecond)
			p.sunset(x)
		}},
		"a hold on the namespace": {
			tell: func(p *past) {
				begin(p)
				x := p.configMap("x")
				p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset-k8s.io/hold: "true"}}}`)
				p.wait(3 * time.Second)
				p.configMap("somebody-is-there")
				p.sunset(x)
			},
			want: broken(checker.HeldStays),
		},
		"a recreated object with the name of a due one": {
			tell: func(p *past) {
				begin(p)
				p.remove(p.configMap("x"))
				p.sunset(p.configMap("x"), func(o *metav1.DeleteOptions) { o.Preconditions.UID = nil })
			},
			want: broken(checker.Fenced, checker.NotEarly),
		},
		"a DELETE whose answer was lost": {
			tell: func(p *past) {
				begin(p)
				p.policy("p", "Suspend", "", "")
				p.wait(3 * time.Second)
				x := p.configMap("x")
				p.sunset(x)
				p.requests[len(p.requests)-1].Code = 504
			},
			want: broken(checker.Restrained, checker.Allowed),
		},
	})
}

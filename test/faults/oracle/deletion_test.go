package oracle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/faults/oracle"
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
	tell(t, map[string]story{
		"a DELETE with all conditions": {tell: deleted("")},
		"without a resourceVersion": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions.ResourceVersion = nil }),
			want: broken(oracle.Fenced),
		},
		"without a UID": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions.UID = nil }),
			want: broken(oracle.Fenced),
		},
		"without any condition": {tell: deleted("", func(o *metav1.DeleteOptions) { o.Preconditions = nil }), want: broken(oracle.Fenced)},
		"without a propagation policy": {
			tell: deleted("", func(o *metav1.DeleteOptions) { o.PropagationPolicy = nil }),
			want: broken(oracle.Fenced),
		},
		"that leaves dependents, where the rule does not": {tell: deleted("", orphan), want: broken(oracle.Fenced)},
		"that leaves dependents, as the rule says":        {tell: deleted(", delete: {propagationPolicy: Orphan}", orphan)},
		"that does not, where the rule leaves them":       {tell: deleted(", delete: {propagationPolicy: Orphan}"), want: broken(oracle.Fenced)},
	})
}

func TestModes(t *testing.T) {
	// after is a deletion so long after the policy's mode changed.
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
			p.request(x, 409, fenced(x))
		}
	}
	tell(t, map[string]story{
		"a policy that was suspended half a second ago": {tell: after("Suspended", 500*time.Millisecond)},
		"a policy that was suspended long ago":          {tell: after("Suspended", 3*time.Second), want: broken(oracle.Restrained, oracle.Judged)},
		"a policy that became a dry run long ago":       {tell: after("DryRun", 3*time.Second), want: broken(oracle.Restrained, oracle.Judged)},
		"a DELETE that was refused":                     {tell: refused("Enforce")},
		"a DELETE that was refused, of a dry run":       {tell: refused("DryRun"), want: broken(oracle.Restrained, oracle.Judged)},
		"a policy that held the request up": {tell: func(p *past) {
			p.evidence.Window = 5 * time.Second
			after("Suspended", 3*time.Second)(p)
		}},
		"an object that no policy is about": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Secret}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.sunset(x)
			},
			want: broken(oracle.Restrained, oracle.Judged),
		},
		"a DELETE of what the only policy does not select": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: old}}}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.request(x, 409, fenced(x))
			},
			want: broken(oracle.Restrained, oracle.Judged),
		},
		"a DELETE of what is nobody's owner": {
			tell: func(p *past) {
				p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Pod}, delete: {what: Owner}")
				x := p.configMap("x")
				p.wait(2 * time.Minute)
				p.request(x, 409, fenced(x))
			},
			want: broken(oracle.Restrained, oracle.Judged),
		},
	})
}

func TestWhatSunsetKeepsForItself(t *testing.T) {
	deleted := func(text string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			p.sunset(p.store(text))
		}
	}
	ledger := func(of string) string {
		return `{apiVersion: sunset.x-k8s.io/v1alpha1, kind: RetentionLedger, metadata: {name: ` + of + `}}`
	}
	tell(t, map[string]story{
		"a lease":     {tell: deleted(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: a, name: x}}`), want: broken(oracle.Restrained, oracle.Untouched)},
		"an event":    {tell: deleted(`{apiVersion: v1, kind: Event, metadata: {namespace: a, name: x}}`), want: broken(oracle.Restrained, oracle.Judged)},
		"an override": {tell: deleted(`{apiVersion: sunset.x-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: x}, spec: {}}`), want: broken(oracle.Restrained, oracle.Untouched)},
		"the ledger of a policy that is gone": {tell: func(p *past) {
			q := p.policy("p", "Enforce", "", "")
			p.remove(q)
			deleted(ledger(string(q.GetUID())))(p)
		}},
		"the ledger of a policy that is there": {
			tell: func(p *past) { deleted(ledger(string(p.policy("p", "Enforce", "", "").GetUID())))(p) },
			want: broken(oracle.Exact),
		},
		"all leases": {
			tell: func(p *past) {
				p.note(history.Request{Verb: "deletecollection", User: us, Code: 200, Group: "coordination.k8s.io", Resource: "leases", Namespace: "a"})
			},
			want: broken(oracle.Fenced),
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
	// late is a DELETE that was sent then, and carried out 5 seconds later.
	late := func(d time.Duration, ruled string, more ...string) func(*past) {
		return func(p *past) {
			p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-5 * time.Second) }
			after(d+5*time.Second, ruled, more...)(p)
		}
	}
	tell(t, map[string]story{
		"a moment after it was due":               {tell: after(time.Minute, "")},
		"a second before":                         {tell: after(59*time.Second, ""), want: broken(oracle.NotEarly)},
		"a second before, and held up on its way": {tell: late(59*time.Second, ""), want: broken(oracle.NotEarly)},
		"in time, and held up on its way":         {tell: late(time.Minute, "")},
		"a mark, a second before, and held up": {
			tell: late(59*time.Second, ", marked", `annotations: {sunset.x-k8s.io/eligible-since: '{"r":"2026-03-01T12:00:00Z"}'}`),
			want: broken(oracle.NotEarly),
		},
		"a start before the creation":            {tell: after(30*time.Second, ", startTime: \"'2020-01-01T00:00:00Z'\""), want: broken(oracle.NotEarly)},
		"a time to live by an expression":        {tell: after(59*time.Second, ", ttlExpression: \"'30s'\"")},
		"one that is never":                      {tell: after(time.Hour, ", ttlExpression: optional.none()"), want: broken(oracle.Judged)},
		"a longer one on the object":             {tell: after(2*time.Minute, "", "annotations: {sunset.x-k8s.io/ttl: 1h}"), want: broken(oracle.NotEarly)},
		"a shorter one on the object":            {tell: after(30*time.Second, "", "annotations: {sunset.x-k8s.io/ttl: 1s}"), want: broken(oracle.NotEarly)},
		"a shorter one that the rule allows":     {tell: after(30*time.Second, ", ttl: 1m, override: {annotation: true, ttl: {min: 10s}}", "annotations: {sunset.x-k8s.io/ttl: 1s}")},
		"one on the object that nobody can read": {tell: after(time.Hour, "", "annotations: {sunset.x-k8s.io/ttl: soon}"), want: broken(oracle.Judged)},
		"no start":                               {tell: after(time.Hour, ", startTime: optional.none()"), want: broken(oracle.Judged)},
		"an expression that fails":               {tell: after(time.Hour, ", eligible: object.spec.missing"), want: broken(oracle.Judged)},
		"an expression that cannot be compiled":  {tell: after(time.Hour, ", eligible: objekt.spec"), want: broken(oracle.Judged)},
		"a field that nobody knows":              {tell: after(time.Hour, ", eligibel: true"), want: broken(oracle.Judged)},
		"an object that is not eligible":         {tell: after(time.Hour, ", eligible: 'false'"), want: broken(oracle.Judged)},
		"another label":                          {tell: after(time.Hour, ", target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: old}}}"), want: broken(oracle.Restrained, oracle.Judged)},
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
	tell(t, map[string]story{
		"a Pod that has ended":             {tell: stored(pod(""), pods)},
		"a Pod that no Job has counted":    {tell: stored(pod(", finalizers: [batch.kubernetes.io/job-tracking]"), pods), want: broken(oracle.Counted)},
		"a mirror Pod":                     {tell: stored(pod(", annotations: {kubernetes.io/config.mirror: x}"), pods), want: broken(oracle.Untouched)},
		"a hold":                           {tell: stored(pod(`, annotations: {sunset.x-k8s.io/hold: ""}`), pods), want: broken(oracle.HeldStays)},
		"a hold that holds nothing":        {tell: stored(pod(`, annotations: {sunset.x-k8s.io/hold: "false"}`), pods)},
		"what is being deleted":            {tell: stored(pod(`, deletionTimestamp: "2026-03-01T12:00:00Z"`), pods), want: broken(oracle.NotTwice)},
		"the ConfigMap of every namespace": {tell: stored(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: kube-root-ca.crt}}`, ""), want: broken(oracle.HeldStays)},
		"a ConfigMap that a controller owns": {
			tell: stored(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, ownerReferences: [{controller: true, uid: u, kind: K, apiVersion: v1, name: o}]}}`, ""),
			want: broken(oracle.HeldStays),
		},
		"a protected namespace": {
			tell: stored(`{apiVersion: v1, kind: Service, metadata: {namespace: kube-system, name: x}}`, ", target: {apiVersion: v1, kind: Service}"),
			want: broken(oracle.Restrained, oracle.Untouched),
		},
		"a protected kind": {
			tell: stored(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}}`, ", target: {apiVersion: v1, kind: PersistentVolume}"),
			want: broken(oracle.Untouched),
		},
	})
}

func TestMoments(t *testing.T) {
	begin := func(p *past) {
		p.policy("p", "Enforce", "", "")
		p.configMap("x")
		p.wait(2 * time.Minute)
	}
	held := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], annotations: {sunset.x-k8s.io/hold: "true"}}}`
	tell(t, map[string]story{
		"a hold right before": {
			tell: func(p *past) {
				begin(p)
				p.sunset(p.store(held))
			},
			want: broken(oracle.HeldStays),
		},
		"a hold on what is being deleted comes too late": {tell: func(p *past) {
			begin(p)
			x := p.configMap("x", "finalizers: [f]")
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], deletionTimestamp: "2026-03-01T12:02:00Z"}}`, us)
			p.requests = p.requests[:len(p.requests)-1] // it was not a patch, but this DELETE
			p.request(x, 200, fenced(x))
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, finalizers: [f], deletionTimestamp: "2026-03-01T12:02:00Z", annotations: {sunset.x-k8s.io/hold: "true"}}}`)
		}},
		"a hold on the namespace half a second ago": {tell: func(p *past) {
			begin(p)
			x := p.configMap("x")
			p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset.x-k8s.io/hold: "true"}}}`)
			p.wait(500 * time.Millisecond)
			p.sunset(x)
		}},
		"a hold on the namespace": {
			tell: func(p *past) {
				begin(p)
				x := p.configMap("x")
				p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset.x-k8s.io/hold: "true"}}}`)
				p.wait(3 * time.Second)
				p.configMap("somebody-is-there")
				p.sunset(x)
			},
			want: broken(oracle.HeldStays),
		},
		"an object made anew under the name of one that was due": {
			tell: func(p *past) {
				begin(p)
				p.remove(p.configMap("x"))
				p.sunset(p.configMap("x"), func(o *metav1.DeleteOptions) { o.Preconditions.UID = nil })
			},
			want: broken(oracle.Fenced, oracle.NotEarly),
		},
		"a DELETE whose answer nobody saw": {
			tell: func(p *past) {
				begin(p)
				p.policy("p", "Suspended", "", "")
				p.wait(3 * time.Second)
				x := p.configMap("x")
				p.sunset(x)
				p.requests[len(p.requests)-1].Code = 504
			},
			want: broken(oracle.Restrained, oracle.Judged),
		},
	})
}

// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// harness is a Reconciler with a server.
type harness struct {
	*policyset.Reconciler
	*server
	t           *testing.T
	published   []policyset.CompiledSnapshot
	leadership  error
	permissions fakePermissions
}

// fakePermissions has the answers of Reconciler.Permissions.Check and its other methods, the same for all rules.
type fakePermissions struct {
	err     error
	denied  func(*policy.Rule) bool // which rules lack a permission if err is nil; nil for none
	unknown bool                    // no answer yet
	allowed bool                    // by the last response of the API server
	asked   []string                // IDs of rules

	preferred schema.GroupVersionKind
}

// Check implements Reconciler.Permissions.
func (r *fakePermissions) Check(_ context.Context, rule *policy.Rule) (time.Time, error) {
	r.asked = append(r.asked, rule.ID.String())
	return time.Time{}, r.err
}

// CheckOwner implements Reconciler.Permissions.
func (r *fakePermissions) CheckOwner(_ context.Context, rule *policy.Rule, kind schema.GroupVersionKind) (time.Time, error) {
	r.asked = append(r.asked, rule.ID.String()+" "+kind.Kind)
	return time.Time{}, r.err
}

// Known implements Reconciler.Permissions.
func (r *fakePermissions) Known(rule *policy.Rule) (error, bool) {
	if r.err == nil && r.denied != nil && r.denied(rule) {
		return preflight.ErrPermission, !r.unknown
	}
	return r.err, !r.unknown
}

// Preferred implements Reconciler.Permissions.
func (r *fakePermissions) Preferred(*policy.Rule) schema.GroupVersionKind { return r.preferred }

// Allowed implements Reconciler.Permissions.
func (r *fakePermissions) Allowed(*policy.Rule) bool {
	if r.err == nil || errors.Is(r.err, preflight.ErrPermission) {
		r.allowed = r.err == nil && !r.unknown
	}
	return r.allowed
}

type leadership func() error

func (l leadership) Check() error { return l() }

// newHarness returns a Reconciler that has read the cache once.
func newHarness(t *testing.T, s *server) *harness {
	t.Helper()
	l := newUnreadHarness(t, s)
	s.sync()
	l.reconcile()
	s.asked()
	return l
}

// withPolicy returns a reconciler with policy p.
func withPolicy(t *testing.T, spec string) *harness {
	t.Helper()
	return withPolicies(t, map[string]string{"p": spec})
}

// withPolicies returns a reconciler with policies by name.
func withPolicies(t *testing.T, specs map[string]string) *harness {
	t.Helper()
	s := newServer()
	for name, spec := range specs {
		s.policy(name, spec)
	}
	return newHarness(t, s)
}

// holding returns a reconciler with policy p, and team-a on hold.
func holding(t *testing.T, spec string) *harness {
	t.Helper()
	s := newServer()
	s.hold("team-a", "true")
	s.policy("p", spec)
	return newHarness(t, s)
}

// sharedCompiler returns the compiler of all tests, with what it has compiled.
var sharedCompiler = sync.OnceValues(func() (*engine.Compiler, error) { return engine.NewCompiler(engine.Options{}) })

func newUnreadHarness(t *testing.T, s *server) *harness {
	t.Helper()
	compiler, err := sharedCompiler()
	expect.NoError(t, err)
	l := &harness{server: s, t: t}
	l.Reconciler = &policyset.Reconciler{
		Cache: s, Compiler: compiler, Protection: policy.DefaultProtection(), Clock: s.clock,
		Leadership:  leadership(func() error { return l.leadership }),
		Permissions: &l.permissions,
		Subscribers: []func(policyset.CompiledSnapshot){func(e policyset.CompiledSnapshot) { l.published = append(l.published, e) }},
	}
	live, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: "http://live", QPS: -1, Transport: l.ObserveDates(s),
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	expect.NoError(t, err)
	l.Live = live
	return l
}

func (l *harness) reconcile() reconcile.Result {
	l.t.Helper()
	result, err := l.Reconcile(l.t.Context(), reconcile.Request{})
	expect.NoError(l.t, err)
	l.compiled()
	return result
}

// compiled waits until every policy that was edited is in force.
func (l *harness) compiled() {
	l.t.Helper()
	expect.NoError(l.t, policyset.Compiled(l.t.Context(), l.Reconciler))
}

// check checks a namespace and returns the rules then in force for its Jobs, as POLICY/RULE MODE TTL.
func (l *harness) check(namespace string) ([]string, error) {
	l.t.Helper()
	_, err := l.Check(l.t.Context(), namespace)
	l.compiled()
	if l.Clock == l.clock && policyset.IsCompiling(err) { // the timeout is of real time, and a busy machine takes longer
		_, err = l.Check(l.t.Context(), namespace)
		l.compiled()
	}
	return l.rules(namespace), err
}

// checked checks a namespace, without waiting for anything else.
func (l *harness) checked(namespace string) error {
	_, err := l.Check(l.t.Context(), namespace)
	return err
}

// allowed is a check that must succeed.
func (l *harness) allowed(namespace string) []string {
	l.t.Helper()
	rules, err := l.check(namespace)
	if err != nil {
		l.t.Fatalf("check of %s: %v", namespace, err)
	}
	return rules
}

// rules returns the rules about Jobs in a namespace, as last published.
func (l *harness) rules(namespace string) []string {
	l.t.Helper()
	rules := []string{}
	if len(l.published) == 0 {
		return rules
	}
	e := l.last()
	for _, r := range e.Snapshot.Effective(jobs, namespace).Rules {
		said := fmt.Sprintf("%s %s %s", r.ID, r.Mode, policy.FormatTTL(r.Lifetime(policy.Subject{}, policy.Facts{}).TTL))
		if r.Suspended {
			said += " suspended"
		}
		if r.Invalid() {
			said += " invalid"
		}
		if _, ok := e.Programs[r.Key]; !ok {
			said += " uncompiled"
		}
		rules = append(rules, said)
	}
	return rules
}

// last returns what was last published.
func (l *harness) last() policyset.CompiledSnapshot { return l.published[len(l.published)-1] }

// snapshot returns the last published snapshot.
func (l *harness) snapshot() *policy.Snapshot { return l.last().Snapshot }

// named returns a policy as last published.
func (l *harness) named(name string) *policy.Policy {
	l.t.Helper()
	for _, p := range l.snapshot().Policies() {
		if p.Name == name {
			return p
		}
	}
	l.t.Fatalf("no policy %s", name)
	return nil
}

// waiting returns the rules about Jobs in a namespace that wait for approval, as last published.
func (l *harness) waiting(namespace string) []string {
	waiting := []string{}
	for _, r := range l.snapshot().Effective(jobs, namespace).Rules {
		if r.Unapproved {
			waiting = append(waiting, r.ID.String())
		}
	}
	return waiting
}

// refresh updates the cache, and reconciles.
func (l *harness) refresh() {
	l.t.Helper()
	l.sync()
	l.reconcile()
}

// restart starts a new process with the same server.
func (l *harness) restart() *harness {
	l.t.Helper()
	return newHarness(l.t, l.server)
}

// later advances the clock.
func (l *harness) later(d time.Duration) { l.clock.Step(d) }

var jobs = schemaGroupKind("batch", "Job")

// spec returns a policy about Jobs.
func spec(mode, ttl string) string {
	return fmt.Sprintf(`{mode: %s, rules: [{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: %s}]}`, mode, ttl)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

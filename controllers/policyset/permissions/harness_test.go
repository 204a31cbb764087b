// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"context"
	"errors"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// now is the time at the start of every test.
var now = fixture.Now

// rule returns a rule of a RetentionPolicy of team-a with the ServiceAccount cleaner.
func rule(options ...func(r *policy.Rule)) *policy.Rule {
	r := &policy.Rule{Namespace: "team-a", ServiceAccount: "cleaner", Kind: fixture.Jobs}
	for _, o := range options {
		o(r)
	}
	return r
}

func of(account string) func(r *policy.Rule) {
	return func(r *policy.Rule) { r.ServiceAccount = account }
}

// snapshots makes a rule create VolumeSnapshots.
func snapshots(r *policy.Rule) { r.Snapshot = &policy.ClaimSnapshot{} }

// server answers SubjectAccessReviews. It allows everything except denied verbs.
type server struct {
	authorizationclient.SubjectAccessReviewInterface // only Create is called

	mu     sync.Mutex
	denied map[string]bool // verbs
	fail   error
	during func() // runs while each request is answered; nil for nothing
	takes  time.Duration
	asked  []authorizationv1.SubjectAccessReviewSpec
}

// Create implements SubjectAccessReviewInterface.
func (s *server) Create(ctx context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Spec)
	if s.during != nil {
		s.during()
	}
	if err := errors.Join(ctx.Err(), s.fail); err != nil {
		return nil, err
	}
	r = r.DeepCopy()
	r.Status.Allowed = !s.denied[r.Spec.ResourceAttributes.Verb]
	return r, nil
}

// verbs returns the verbs requested since the last call.
func (s *server) verbs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var verbs []string
	for _, spec := range s.asked {
		verbs = append(verbs, spec.ResourceAttributes.Verb)
	}
	s.asked = nil
	return verbs
}

func (s *server) deny(verbs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = map[string]bool{}
	for _, verb := range verbs {
		s.denied[verb] = true
	}
}

func (s *server) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func newChecker(s *server, c clock.Clock) *permissions.Checker {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(fixture.Jobs, meta.RESTScopeNamespace)
	mapper.Add(fixture.Nodes, meta.RESTScopeRoot)
	mapper.Add(policy.VolumeSnapshotKind, meta.RESTScopeNamespace)
	return permissions.New(s, mapper, c)
}

// newServedChecker returns a Checker with a server and a clock.
func newServedChecker() (*server, *clocktesting.FakeClock, *permissions.Checker) {
	s, c := &server{}, clocktesting.NewFakeClock(now)
	return s, c, newChecker(s, c)
}

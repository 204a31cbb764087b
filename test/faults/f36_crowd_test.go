package faults_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// 5,000 objects of one policy fall due at once, among 100 policies and 100 namespaces. A policy with one object, in a
// namespace of its own, does not wait for them.
func TestF36ACrowdDoesNotStarveTheFew(t *testing.T) {
	scene.Long(t)
	const crowd, namespaces, policies = 5000, 99, 98
	s := scene.New(t, scene.Options{})
	places := []string{s.Namespace}
	for i := range namespaces {
		places = append(places, s.More(fmt.Sprintf("n-%d", i)))
	}
	p := s.Policy("crowd", labelled("crowd", "DryRun", "0s"))
	few := s.Policy("few", labelled("few", "Enforce", "0s"))
	for i := range policies {
		s.Policy(fmt.Sprintf("p-%d", i), labelled(fmt.Sprintf("e-%d", i), "Enforce", "1h"))
	}
	create := &errgroup.Group{}
	create.SetLimit(16)
	for i := range crowd {
		create.Go(func() error {
			cm := &corev1.ConfigMap{}
			cm.Namespace, cm.Name, cm.Labels = places[i%len(places)], fmt.Sprintf("cm-%d", i), map[string]string{"env": "crowd"}
			return s.Create(t.Context(), cm)
		})
	}
	if err := create.Wait(); err != nil {
		t.Fatal(err)
	}
	r := s.Sunset(scene.Start{})
	counted(s, p, crowd)
	counted(s, few, 0)
	s.Edit(p, enforces)
	began := time.Now()
	worst := time.Duration(0)
	some := &corev1.ConfigMapList{Items: make([]corev1.ConfigMap, 1)}
	for i := 0; len(some.Items) > 0; i++ {
		cm := s.ConfigMap(fmt.Sprintf("few-%d", i), map[string]string{"env": "few"})
		asked := time.Now()
		s.Gone(cm)
		worst = max(worst, time.Since(asked))
		if err := s.List(t.Context(), some, client.MatchingLabels{"env": "crowd"}, client.Limit(1)); err != nil {
			t.Fatal(err)
		}
	}
	s.Logf("%d objects in %s; of the few each was gone within %s", crowd, time.Since(began).Round(time.Millisecond), worst.Round(time.Millisecond))
	if worst > 5*time.Second {
		t.Errorf("one of the few had to wait %s", worst)
	}
	fenced(t, r.Deletes())
}

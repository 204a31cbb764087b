// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF08RestartedAtAnAPIServerThatIsBehind kills the controller and starts it again at an API server that is disconnected
// from etcd. The objects in that server's cache are due. Through the other API server, they have since been held, relabelled,
// recreated or suspended.
func TestF08RestartedAtAnAPIServerThatIsBehind(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	p := s.Policy("previews", previews("DryRun", "0s"))
	other := s.Policy("others", labelled("other", "DryRun", "0s"))
	goes, held := s.ConfigMap("goes", preview), s.ConfigMap("held", preview)
	relabelled, namesake := s.ConfigMap("relabelled", preview), s.ConfigMap("namesake", preview)
	suspended := s.ConfigMap("suspended", map[string]string{"env": "other"})
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false"}})
	counted(s, p, 4)
	counted(s, other, 1)
	r.Kill()
	s.Edit(p, enforces)
	s.Edit(other, enforces)
	b := s.Through(scenario.B, scenario.Patience())
	s.Eventually(func() error { return remembers(s, b, other, held) })

	s.Cluster.Relay().Stall()
	defer s.Cluster.Relay().Heal()
	namesake = overtaken(s, held, relabelled, namesake)
	s.Edit(other, suspends)
	r.Restart(func(start *scenario.Start) { start.Server = scenario.B })
	silent(t, 8*time.Second, r) // no deletion can succeed now, so none must be tried
	s.Stays(0, goes, held, relabelled, namesake, suspended)
	if err := remembers(s, b, other, held); err != nil {
		scenario.Void(t, "the API server is not behind: %v", err)
	}

	s.Cluster.Relay().Heal()
	s.Gone(goes)
	s.Stays(3*time.Second, held, relabelled, namesake, suspended)
	s.Calm()
}

// TestF08ObjectsAreReadFromThePast kills the controller and starts it again. It reads ConfigMaps from an API server that is
// disconnected from etcd, and sends DELETEs to one that is not. The API server refuses to delete objects that have changed
// since.
func TestF08ObjectsAreReadFromThePast(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	p := s.Policy("previews", previews("Enforce", "1h"))
	goes, held := s.ConfigMap("goes", preview), s.ConfigMap("held", preview)
	relabelled, namesake := s.ConfigMap("relabelled", preview), s.ConfigMap("namesake", preview)
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false"}})
	counted(s, p, 4)
	r.Kill()
	b := s.Through(scenario.B, scenario.Patience())
	s.Eventually(func() error { return remembers(s, b, p, held) })

	s.Cluster.Relay().Stall()
	defer s.Cluster.Relay().Heal()
	namesake = overtaken(s, held, relabelled, namesake)
	late := s.ConfigMap("late", preview)
	s.Edit(p, enforces)
	r.Past("configmaps", scenario.B)
	r.Restart()
	s.Gone(goes)
	for _, cm := range []*corev1.ConfigMap{held, relabelled, namesake} {
		s.Eventually(func() error { return refused(r, cm.Name) })
	}
	s.Stays(2*time.Second, held, relabelled, namesake, late)
	if err := remembers(s, b, p, held); err != nil {
		scenario.Void(t, "the API server is not behind: %v", err)
	}

	s.Cluster.Relay().Heal()
	s.Gone(late)
	s.Stays(time.Second, held, relabelled, namesake)
	s.Calm()
}

// overtaken changes objects that an outdated API server still has in their old state: it holds one, relabels one, and
// recreates one without its label. It returns the recreated object.
func overtaken(s *scenario.Scenario, held, relabelled, namesake *corev1.ConfigMap) *corev1.ConfigMap {
	s.Helper()
	s.Hold(held)
	s.Change(relabelled, func() { relabelled.Labels = nil })
	s.Remove(namesake)
	return s.ConfigMap(namesake.Name, nil)
}

// refused returns an error unless the API server has refused a DELETE because the object had changed.
func refused(r *scenario.Replica, name string) error {
	for _, e := range with(http.StatusConflict, r.Deletes()) {
		if e.Name == name {
			return nil
		}
	}
	return fmt.Errorf("no DELETE of %s was refused", name)
}

// remembers returns nil while the cache of an API server has a policy that is enforced and a ConfigMap without a hold.
func remembers(s *scenario.Scenario, c client.Client, p *v1alpha1.ClusterRetentionPolicy, cm *corev1.ConfigMap) error {
	stale := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
	policies, maps := &v1alpha1.ClusterRetentionPolicyList{}, &corev1.ConfigMapList{}
	if err := c.List(s.Context(), policies, stale); err != nil {
		return err
	}
	if err := c.List(s.Context(), maps, stale, client.InNamespace(cm.Namespace)); err != nil {
		return err
	}
	for _, known := range policies.Items {
		if known.Name == p.Name && known.Spec.Mode != v1alpha1.Enforce {
			return fmt.Errorf("%s is %s", known.Name, known.Spec.Mode)
		}
	}
	for _, known := range maps.Items {
		if known.Name == cm.Name && len(known.Annotations) == 0 {
			return nil
		}
	}
	return errors.New("the ConfigMap is missing or held")
}

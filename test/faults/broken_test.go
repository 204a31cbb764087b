// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestCheckFindsBrokenPromises deletes a held object as a replica's user. The check finds that in the logs of the servers.
func TestCheckFindsBrokenPromises(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{Breaks: []checker.Promise{checker.Fenced, checker.HeldStays}})
	s.Policy("previews", previews("Enforce", "1s"))
	r := s.Sunset(scenario.Start{})
	held := s.ConfigMap("held", preview, func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{v1alpha1.HoldAnnotation: "true"} })
	s.Gone(s.ConfigMap("due", preview))
	config, err := s.Cluster.UserConfigAt(cluster.APIServer, r.User, "system:masters")
	expect.NoError(t, err)
	replica, err := client.New(config, client.Options{})
	expect.NoError(t, err)
	expect.NoError(t, replica.Delete(t.Context(), held))
	s.Calm()
}

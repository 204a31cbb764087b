// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// conditions runs the controller without permissions for the kinds of new policies: of a cluster policy, and of a team
// policy whose ServiceAccount lacks them too. It applies what the command in the conditions prints. Then every object is
// deleted and every granted permission has been used.
func (s *server) conditions() {
	s.controller()
	s.applyAll("lacking.yaml")
	cret, ret := policyNamed("lacking"), &v1alpha1.RetentionPolicy{}
	ret.SetNamespace("team")
	ret.SetName("lacking")
	s.lacks(ret, &ret.Status, v1alpha1.ConditionPermitted, v1alpha1.ConditionWatching)
	s.lacks(cret, &cret.Status, v1alpha1.ConditionWatching)
	for _, role := range objects(s.T, []byte(s.missing())) {
		expect.NoError(s, s.apply(s.Context(), role))
	}
	s.gone("lacking.yaml", "LimitRange", "CronJob")
	if still := s.missing(); still != "" {
		s.Errorf("still missing:\n%s", still)
	}
	cluster.Eventually(s, patience, func() error {
		used, _ := s.asked()
		for _, r := range []permission{{"watch", "limitranges"}, {"delete", "limitranges"}, {"patch", "limitranges"}, {"delete", "cronjobs.batch"}} {
			if !used[r] {
				return fmt.Errorf("never used: %v", r)
			}
		}
		return nil
	})
}

// missing returns the permissions that the policies lack according to the command line.
func (s *server) missing() string {
	s.Helper()
	kubeconfig := filepath.Join(s.TempDir(), "kubeconfig")
	expect.NoError(s, cluster.WriteKubeconfig(kubeconfig, s.plane.Config()))
	var out, said bytes.Buffer
	streams := genericiooptions.IOStreams{Out: &out, ErrOut: &said}
	args := []string{"rbac", "--missing", "-f", "testdata/permissions/lacking.yaml", "--kubeconfig", kubeconfig}
	if code := command.Run(s.Context(), args, streams, time.Time{}); code != command.ExitOK || said.Len() > 0 && out.Len() > 0 { // a note says that nothing is missing
		s.Fatalf("exit %d: %s", code, &said)
	}
	return out.String()
}

// lacks waits until conditions of a policy report missing permissions, with the command that grants them, and the status lists
// them.
func (s *server) lacks(p client.Object, status *v1alpha1.RetentionPolicyStatus, conditions ...string) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		for _, name := range conditions {
			c := meta.FindStatusCondition(status.Conditions, name)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "Forbidden" || !strings.Contains(c.Message, "kubectl sunset rbac "+p.GetName()) {
				return fmt.Errorf("%s of %s is %v", name, p.GetName(), c)
			}
		}
		return cluster.Want(len(status.MissingPermissions) > 0, "no permission of %s is missing", p.GetName())
	})
}

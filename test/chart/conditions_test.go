package chart_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// conditions runs the controller without permissions for the kinds of new policies: of a cluster policy, and of a team
// policy whose ServiceAccount lacks them too. It applies the manifests in the conditions as they are. Then every object is
// deleted and every granted permission has been used.
func (s *server) conditions() {
	s.controller()
	s.applyAll("lacking.yaml")
	cret, ret := policyNamed("lacking"), &v1alpha1.RetentionPolicy{}
	ret.SetNamespace("team")
	ret.SetName("lacking")
	foretold := s.missing()
	s.grants(foretold, ret, &ret.Status, v1alpha1.ConditionPermitted)
	s.grants(foretold, ret, &ret.Status, v1alpha1.ConditionWatching)
	s.grants(foretold, cret, &cret.Status, v1alpha1.ConditionWatching)
	s.grants(foretold, cret, &cret.Status, v1alpha1.ConditionEnforcing)
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
	args := []string{"rights", "--missing", "-f", "testdata/rights/lacking.yaml", "--kubeconfig", kubeconfig}
	if code := command.Run(s.Context(), args, streams, time.Time{}); code != command.ExitOK || said.Len() > 0 {
		s.Fatalf("exit %d: %s", code, &said)
	}
	return out.String()
}

// grants waits until a condition of a policy reports a missing permission, and applies its manifest. The command line must
// have printed the same manifest in foretold.
func (s *server) grants(foretold string, p client.Object, status *v1alpha1.RetentionPolicyStatus, condition string) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		c := meta.FindStatusCondition(status.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "Forbidden" || !strings.HasPrefix(c.Message, "# ") { // the permissions have been checked
			return fmt.Errorf("%s of %s is %v", condition, p.GetName(), c)
		}
		roles := objects(s.T, []byte(c.Message))
		if !slices.Contains([]string{"ClusterRole", "Role"}, roles[0].GetKind()) {
			return errors.New(c.Message)
		}
		for _, document := range strings.Split(c.Message[strings.Index(c.Message, "\n")+1:], rbac.Between) {
			if !strings.Contains(foretold, document) {
				s.Errorf("the command line does not print for %s %s:\n%s", p.GetName(), condition, document)
			}
		}
		for _, role := range roles {
			if err := s.apply(s.Context(), role); err != nil {
				s.Fatalf("%v in\n%s", err, c.Message)
			}
		}
		return nil
	})
}

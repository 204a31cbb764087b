package chart_test

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// conditions runs the controller without rights on what new policies are about, of the cluster and of a team whose account lacks them
// too. What their conditions say is applied as it is; then everything goes, and every right that was given has been used.
func (s *server) conditions() {
	s.controller()
	s.applyAll("lacking.yaml")
	cret, ret := policyNamed("lacking"), &v1alpha1.RetentionPolicy{}
	ret.SetNamespace("team")
	ret.SetName("lacking")
	s.grants(ret, &ret.Status, v1alpha1.ConditionPermitted)
	s.grants(ret, &ret.Status, v1alpha1.ConditionWatching)
	s.grants(cret, &cret.Status, v1alpha1.ConditionWatching)
	s.grants(cret, &cret.Status, v1alpha1.ConditionEnforcing)
	s.gone("lacking.yaml", "LimitRange", "CronJob")
	cluster.Eventually(s, patience, func() error {
		used, _ := s.asked()
		for _, r := range []right{{"watch", "limitranges"}, {"delete", "limitranges"}, {"patch", "limitranges"}, {"delete", "cronjobs.batch"}} {
			if !used[r] {
				return fmt.Errorf("never used: %v", r)
			}
		}
		return nil
	})
}

// grants waits until a condition of a policy says that a right is missing, and applies what it says.
func (s *server) grants(p client.Object, status *v1alpha1.RetentionPolicyStatus, condition string) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		c := meta.FindStatusCondition(status.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "Forbidden" {
			return fmt.Errorf("%s of %s is %v", condition, p.GetName(), c)
		}
		roles := objects(s.T, []byte(c.Message))
		if !slices.Contains([]string{"ClusterRole", "Role"}, roles[0].GetKind()) {
			return errors.New(c.Message)
		}
		for _, role := range roles {
			if err := s.apply(s.Context(), role); err != nil {
				s.Fatalf("%v in\n%s", err, c.Message)
			}
		}
		return nil
	})
}

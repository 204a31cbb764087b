// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/checker"
)

// endTimeout limits the time of all steps after a scenario.
const endTimeout = 5 * time.Minute

// End ends the scenario before its test ends. The test can then use the report.
func (s *Scenario) End() {
	defer s.leave()
	s.ending.Do(s.end)
}

// end stops the replicas, checks what they did and cleans up.
func (s *Scenario) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	s.voids()
	s.restless()
	for _, r := range s.all() {
		r.end()
	}
	ended := time.Now()
	for _, r := range s.all() {
		defer r.Proxy.Close()
	}
	for _, r := range s.all() {
		r.proofread()
	}
	s.repair(ctx)
	s.check(ctx, ended)
	s.closeArchives()
	if s.Failed() {
		for _, r := range s.all() {
			s.Logf("end of the log of %s:\n%s", r.User, tail(r.Log(), 60))
		}
		s.Logf("to repeat the run:\n  %s", s.options.Repeat.command(s.Name(), packageDir()))
	}
	s.clear(ctx)
}

// end stops a replica with SIGTERM, or with SIGKILL if that takes too long.
func (r *Replica) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cont()
	r.program.Stop()
	r.ended(r.program.Failure() != nil)
}

// voids lets Main repeat a test in which an expected event did not happen.
func (s *Scenario) voids() {
	if s.Failed() {
		return // the test has another reason to fail
	}
	for _, e := range s.expected {
		if !e.happened() {
			recordVoid(s, "missing "+e.what)
			return
		}
	}
}

// proofread searches a replica's log for text that must never occur.
func (r *Replica) proofread() {
	log := r.Log()
	for _, never := range []string{"panic:", "fatal error:", "DATA RACE", "Observed a panic"} {
		if at := strings.Index(log, never); at >= 0 {
			r.scenario.Errorf("%s in the log of %s:\n%s", never, r.User, head(log[at:], 60))
		}
	}
}

// check checks what the replicas did.
func (s *Scenario) check(ctx context.Context, ended time.Time) {
	if s.options.Unchecked != "" {
		s.Logf("not checked: %s", s.options.Unchecked)
		return
	}
	if len(s.replicas) == 0 {
		return
	}
	evidence, err := s.evidence(ctx, ended)
	if err != nil {
		s.Errorf("check failed: %v", err)
		return
	}
	report, err := checker.Check(evidence)
	s.mu.Lock()
	s.report = report
	s.mu.Unlock()
	if err == nil && s.options.Breaks == nil {
		err = report.Err()
	}
	if err != nil {
		s.Errorf("%v", err)
		return
	}
	for _, p := range s.options.Breaks {
		if !slices.ContainsFunc(report.Violations, func(v checker.Violation) bool { return v.Promise == p }) {
			s.Errorf("the check does not find that this is broken: %s", p)
		}
	}
	s.Logf("checked: %s", report)
}

// repair heals the servers, which an exclusive scenario may have disturbed, and checks that they work.
func (s *Scenario) repair(ctx context.Context) {
	if !s.options.Alone && !s.options.Own {
		return
	}
	s.Cluster.Relay().Heal()
	for _, component := range []cluster.Component{cluster.Etcd, cluster.APIServer, cluster.SecondAPIServer, cluster.ControllerManager} {
		_ = s.Cluster.Resume(component) // the check below detects a component that has ended
	}
	for _, server := range []Server{A, B} {
		config, err := s.Cluster.UserConfigAt(server.component(), "admin", "system:masters")
		if err == nil {
			err = knows(ctx, config)
		}
		if err != nil {
			s.Errorf("%s does not work after the scenario: %v", server.component(), err)
		}
	}
}

// clear deletes the objects of the scenario, unless its own control plane ends with it. Objects that cannot be deleted stay:
// no other scenario sees them. In short runs, namespaces and what is in them stay too, because deleting one costs about a hundred requests.
func (s *Scenario) clear(ctx context.Context) {
	if s.options.Own {
		return
	}
	mine := client.MatchingLabels{scenarioLabel: s.Namespace}
	_ = s.DeleteAllOf(ctx, &v1alpha1.ClusterRetentionPolicy{}, mine)
	_ = s.DeleteAllOf(ctx, &v1alpha1.RetentionArchive{}, mine)
	ledgers := &v1alpha1.RetentionLedgerList{}
	_ = s.List(ctx, ledgers)
	for i, l := range ledgers.Items {
		if s.owns(l.Policy.Namespace, l.Policy.Name) {
			_ = s.Delete(ctx, &ledgers.Items[i])
		}
	}
	if !long() {
		return
	}
	namespaces := &corev1.NamespaceList{}
	_ = s.List(ctx, namespaces, mine)
	namespaces.Items = append(namespaces.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Home}})
	for i := range namespaces.Items {
		_ = s.Delete(ctx, &namespaces.Items[i])
	}
}

func head(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[:min(len(all), lines)], "")
}

func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

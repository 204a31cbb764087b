package scene

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/oracle"
)

// endTimeout is how long what comes after a scene may take.
const endTimeout = 2 * time.Minute

// End ends the scene before its test does, which then goes on with what the scene has shown.
func (s *Scene) End() {
	defer s.leave()
	s.ending.Do(s.end)
}

// end stops the replicas, judges what they did and leaves nothing behind.
func (s *Scene) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	s.voids()
	s.restless()
	for _, r := range s.all() {
		r.end()
	}
	ended := time.Now()
	for _, r := range s.all() {
		defer r.Gate.Close()
	}
	for _, r := range s.all() {
		r.proofread()
	}
	s.mend(ctx)
	s.judge(ctx, ended)
	if s.Failed() {
		for _, r := range s.all() {
			s.Logf("the log of %s ends with\n%s", r.User, tail(r.Log(), 60))
		}
		s.Logf("to repeat it:\n  %s", s.options.Repeat.command(s.Name(), packageDir()))
	}
	s.clear(ctx)
}

// end stops a replica: as an operator does, and if that takes long as a crash does.
func (r *Replica) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cont()
	r.program.Stop()
	r.ended(r.program.Failure() != nil)
}

// voids fails a test in which what it is about has not happened.
func (s *Scene) voids() {
	if s.Failed() {
		return // it has another reason
	}
	for _, e := range s.expected {
		if !e.happened() {
			s.Errorf("the run is void: it lacks %s", e.what)
		}
	}
}

// proofread finds in a replica's log what must never be there.
func (r *Replica) proofread() {
	log := r.Log()
	for _, never := range []string{"panic:", "fatal error:", "DATA RACE", "Observed a panic"} {
		if at := strings.Index(log, never); at >= 0 {
			r.scene.Errorf("%s in the log of %s:\n%s", never, r.User, head(log[at:], 60))
		}
	}
}

// judge lets the oracle judge what the replicas did.
func (s *Scene) judge(ctx context.Context, ended time.Time) {
	if s.options.Unjudged != "" {
		s.Logf("not judged: %s", s.options.Unjudged)
		return
	}
	if len(s.replicas) == 0 {
		return
	}
	evidence, err := s.evidence(ctx, ended)
	if err != nil {
		s.Errorf("no verdict: %v", err)
		return
	}
	report, err := oracle.Check(evidence)
	s.mu.Lock()
	s.report = report
	s.mu.Unlock()
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		s.Errorf("%v", err)
		return
	}
	s.Logf("judged: %s", report)
}

// mend makes the servers work again that a scene has troubled which was alone with them.
func (s *Scene) mend(ctx context.Context) {
	if !s.options.Alone && !s.options.Own {
		return
	}
	s.Cluster.Relay().Heal()
	for _, component := range []cluster.Component{cluster.Etcd, cluster.APIServer, cluster.SecondAPIServer, cluster.ControllerManager} {
		_ = s.Cluster.Resume(component) // one that has ended is missed below
	}
	for _, server := range []Server{A, B} {
		config, err := s.Cluster.UserConfigAt(server.component(), "admin", "system:masters")
		if err == nil {
			err = knows(ctx, config)
		}
		if err != nil {
			s.Errorf("the scene leaves %s broken: %v", server.component(), err)
		}
	}
}

// clear deletes what the scene has made, unless it all ends with the scene's control plane. What cannot be deleted stays: nobody
// else sees it.
func (s *Scene) clear(ctx context.Context) {
	if s.options.Own {
		return
	}
	mine := client.MatchingLabels{sceneLabel: s.Namespace}
	_ = s.DeleteAllOf(ctx, &v1alpha1.ClusterRetentionPolicy{}, mine)
	ledgers := &v1alpha1.RetentionLedgerList{}
	_ = s.List(ctx, ledgers)
	for i, l := range ledgers.Items {
		if s.owns(l.Policy.Namespace, l.Policy.Name) {
			_ = s.Delete(ctx, &ledgers.Items[i])
		}
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

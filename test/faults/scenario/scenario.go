// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// Options says what a scenario needs. The zero value is enough for most scenarios.
type Options struct {
	// Alone gives the scenario exclusive use of the control plane: for faults of whole servers or CRDs.
	Alone bool
	// Own gives the scenario its own control plane, which ends with it: for faults that cannot be repaired, such as an older
	// state of etcd.
	Own bool
	// Nodes creates fake nodes that run Pods.
	Nodes bool
	// Cold starts all replicas with --warm-standby=false: they watch objects only while they lead.
	Cold bool
	// Unchecked disables the check, and says why: for a scenario in which Sunset's promises cannot hold, or whose history is
	// lost.
	Unchecked string
	// Breaks are promises that the scenario itself breaks, as the user of a replica. The check must find each of them broken, and
	// may find others.
	Breaks []checker.Promise
	// Unsettled says why a scenario does not use Calm. Then the check does not require that due objects are gone and counted
	// at the end.
	Unsettled string
	// Window is how long a change of a policy or a namespace may take to apply. Zero means the promised time.
	Window time.Duration
	// Repeat says how to repeat a failed run.
	Repeat Repeat
}

// Scenario is one scenario. Its client is an administrator's at API server A. The client labels the policies and namespaces that
// it creates with the scenario: the scenario's replicas see no other policies.
type Scenario struct {
	*testing.T
	client.Client
	Cluster   *cluster.Cluster
	Namespace string     // selected by policies
	Home      string     // Sunset's own namespace, with its lease
	Rand      *rand.Rand // with the seed of -seed

	options  Options
	plane    *plane
	dir      string // still exists after end
	began    time.Time
	mu       sync.Mutex // guards the fields below
	quiet    time.Time
	calmed   bool
	named    int        // number of replicas with a name
	replicas []*Replica // replicas that were started
	archives []*Archive
	logs     map[history.Container]string
	expected []expectation
	ending   sync.Once
	leave    func() // releases the scenario's place
	report   checker.Report
}

// expectation is an event without which a run is void.
type expectation struct {
	what     string
	happened func() bool
}

// New starts a scenario, which ends with the test.
func New(t *testing.T, o Options) *Scenario {
	t.Helper()
	t.TempDir() // its files must outlive the scenario's end
	on := &shared
	guest := shared.hall.acquire(t.Name(), o.Alone)
	leave := sync.OnceFunc(func() { shared.hall.release(guest) })
	t.Cleanup(leave)
	if o.Own {
		on = &plane{}
		t.Cleanup(func() {
			if err := on.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	s := &Scenario{T: t, plane: on, Cluster: on.get(t, o.Nodes), options: o, began: time.Now(), dir: t.TempDir(), leave: leave, Namespace: "t-" + utilrand.String(6)}
	s.Home = s.Namespace + "-sunset"
	s.Rand = rand.New(rand.NewPCG(uint64(Seed()), hashed(t.Name())))
	admin, err := cluster.NewClient(s.Cluster.Config())
	expect.NoError(t, err)
	s.Client = labelling{Client: admin, scenario: s.Namespace}
	t.Cleanup(func() { s.ending.Do(s.end) })
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Home, Labels: map[string]string{scenarioLabel: "", homeLabel: s.Namespace}}})
	return s
}

func hashed(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum64()
}

// Expect names faults that must have fired by the end of the scenario: otherwise the run is void.
func (s *Scenario) Expect(faults ...*proxy.Armed) {
	for _, fault := range faults {
		s.ExpectThat("a fault that fired, armed at "+fault.Where(), func() bool { return fault.Fired() > 0 })
	}
}

// ExpectThat names another event without which the run is void. happened is called at the end, before the replicas stop.
func (s *Scenario) ExpectThat(what string, happened func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = append(s.expected, expectation{what, happened})
}

// Report returns the result of the check. It is empty until the scenario has ended.
func (s *Scenario) Report() checker.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// More creates another namespace of the scenario, named after it. Policies without a namespaceSelector select it too.
func (s *Scenario) More(name string) string {
	s.Helper()
	name = s.Namespace + "-" + name
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

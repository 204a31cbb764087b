package scene

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
	"github.com/sunset-k8s/sunset/test/faults/oracle"
	"github.com/sunset-k8s/sunset/test/gate"
)

// Options says what a scene needs. The zero value is enough for most.
type Options struct {
	// Alone keeps everybody else off the control plane: for faults of whole servers, CRDs and the like.
	Alone bool
	// Own gives the scene a control plane that ends with it: for what cannot be mended, such as an older state of etcd.
	Own bool
	// Nodes makes fake nodes on which Pods run.
	Nodes bool
	// Unjudged turns the verdict off: for a scene in which Sunset's promises cannot hold, or whose history is lost. It says why.
	Unjudged string
	// Unsettled says why a scene does without Calm: what must be gone and counted in the end is not asked then.
	Unsettled string
	// Window is how long a change of a policy or a namespace may take to be respected. Zero means what is promised.
	Window time.Duration
	// Repeat is how a run that fails says that it is repeated.
	Repeat Repeat
}

// Scene is the world of one scenario. Its client is an administrator's at API server A; what it creates of Sunset's policies,
// and of namespaces, gets the label by which they belong to the scene: its replicas see no other policies.
type Scene struct {
	*testing.T
	client.Client
	Cluster   *cluster.Cluster
	Namespace string     // for what policies are about
	Home      string     // Sunset's own namespace, with its lease
	Rand      *rand.Rand // that -seed repeats

	options  Options
	dir      string // outlives end
	began    time.Time
	mu       sync.Mutex // guards what follows
	quiet    time.Time
	calmed   bool
	named    int        // how many replicas have got a name
	replicas []*Replica // those that were started
	expected []expectation
	ending   sync.Once
	leave    func() // makes room for another scene
	report   oracle.Report
}

// expectation is something without which a run is void.
type expectation struct {
	what     string
	happened func() bool
}

// New makes a scene, which ends with the test.
func New(t *testing.T, o Options) *Scene {
	t.Helper()
	t.TempDir() // so that what is in it outlives the scene's own end
	on := &shared
	guest := shared.hall.enter(t.Name(), o.Alone)
	leave := sync.OnceFunc(func() { shared.hall.leave(guest) })
	t.Cleanup(leave)
	if o.Own {
		on = &plane{}
		t.Cleanup(func() {
			if err := on.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	s := &Scene{T: t, Cluster: on.get(t, o.Nodes), options: o, began: time.Now(), dir: t.TempDir(), leave: leave, Namespace: "t-" + utilrand.String(6)}
	s.Home = s.Namespace + "-sunset"
	s.Rand = rand.New(rand.NewPCG(uint64(Seed()), hashed(t.Name())))
	admin, err := newClient(s.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.Client = labelling{Client: admin, scene: s.Namespace}
	t.Cleanup(func() { s.ending.Do(s.end) })
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Home, Labels: map[string]string{sceneLabel: "", homeLabel: s.Namespace}}})
	return s
}

func hashed(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum64()
}

// Expect names faults that must have fired by the end of the scene: otherwise its run is void.
func (s *Scene) Expect(faults ...*gate.Armed) {
	for _, fault := range faults {
		s.ExpectThat("a fault that fires, armed at "+fault.Where(), func() bool { return fault.Fired() > 0 })
	}
}

// ExpectThat names something else without which the run is void, to be asked at the end, before the replicas are stopped.
func (s *Scene) ExpectThat(what string, happened func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = append(s.expected, expectation{what, happened})
}

// Report is the verdict. It is empty until the scene has ended.
func (s *Scene) Report() oracle.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// More makes another namespace of the scene, named after it. Policies without a namespaceSelector are about it too.
func (s *Scene) More(name string) string {
	s.Helper()
	name = s.Namespace + "-" + name
	s.MustCreate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

package scene

import (
	"math/rand/v2"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/gate"
)

// Patience is how long a scene waits for what must happen.
const Patience = 60 * time.Second

// Options says what a scene needs. The zero value is enough for most.
type Options struct {
	// Alone keeps everybody else off the control plane: for faults of whole servers, CRDs and the like.
	Alone bool
	// Own gives the scene a control plane that ends with it: for what cannot be mended, such as an older state of etcd.
	Own bool
	// Nodes makes fake nodes on which Pods run.
	Nodes bool
	// Unjudged turns the verdict off: for a scene in which Sunset's promises cannot hold. It says why.
	Unjudged string
	// Window is how long a change of a policy or a namespace may take to be respected. Zero means what is promised.
	Window time.Duration
}

// Scene is the world of one scenario. Its client is an administrator's at API server A; what it creates of Sunset's kinds
// gets the label by which the scene's replicas see it.
type Scene struct {
	*testing.T
	client.Client
	Cluster   *cluster.Cluster
	Namespace string     // for what policies are about
	Home      string     // Sunset's own namespace, with its lease
	Rand      *rand.Rand // that -seed repeats
}

// New makes a scene, which ends with the test.
func New(t *testing.T, o Options) *Scene { return nil }

// Expect names faults that must have fired by the end of the scene: otherwise its run is void.
func (s *Scene) Expect(faults ...*gate.Armed) {}

// ExpectThat names something else without which the run is void, to be asked at the end.
func (s *Scene) ExpectThat(what string, happened func() bool) {}

// More makes another namespace of the scene, named after it. Policies without a namespaceSelector are about it too.
func (s *Scene) More(name string) string { return "" }

package cluster

// Component names one program of the control plane or of a node. It is also the name of its
// binary and, with ".log", of its log file.
type Component string

// The components this package can build and run.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kwok              Component = "kwok"
	Kueue             Component = "kueue" // runs only after StartKueue

	// SecondAPIServer is the same program as APIServer, with Options.SecondAPIServer.
	SecondAPIServer Component = "kube-apiserver-b"

	// Those of a node are no part of a cluster: test/containerd runs them.
	Containerd     Component = "containerd"
	ContainerdShim Component = "containerd-shim-runc-v2"
	Ctr            Component = "ctr"
)

// program is the component whose binary this one runs.
func (c Component) program() Component {
	if c == SecondAPIServer {
		return APIServer
	}
	return c
}

// home is a Go module whose go.mod pins components with all they are built of.
type home struct {
	dir     string      // below test/controlplane
	names   []Component // whose versions tell one directory of the cache from another
	stamped bool        // the binaries are told their version of Kubernetes
}

var (
	kubernetesHome = home{dir: ".", names: []Component{APIServer, Etcd, Kwok}, stamped: true}
	// kueueHome is apart, because Kueue is made for older libraries of
	// Kubernetes than those the control plane is built of.
	kueueHome = home{dir: "kueue", names: []Component{Kueue}}
	// containerdHome is apart for the same reason: containerd's libraries are its own.
	containerdHome = home{dir: "containerd", names: []Component{Containerd}}
)

// recipe says where a component comes from.
type recipe struct {
	home   home
	module string // whose version in the home's go.mod is the component's
	pkg    string // the package main
	cold   string // about how long its first build takes on two cores
}

const containerdModule = "github.com/containerd/containerd/v2"

var recipes = map[Component]recipe{
	Etcd:              {kubernetesHome, "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "1 minute"},
	APIServer:         {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "4 minutes"},
	ControllerManager: {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "2 minutes"},
	Scheduler:         {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", "1 minute"},
	Kwok:              {kubernetesHome, "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", "1 minute"},
	Kueue:             {kueueHome, "sigs.k8s.io/kueue", "sigs.k8s.io/kueue/cmd/kueue", "5 minutes"},
	Containerd:        {containerdHome, containerdModule, containerdModule + "/cmd/containerd", "2 minutes"},
	ContainerdShim:    {containerdHome, containerdModule, containerdModule + "/cmd/containerd-shim-runc-v2", "10 seconds"},
	Ctr:               {containerdHome, containerdModule, containerdModule + "/cmd/ctr", "10 seconds"},
}

// Components returns every component of the control plane, in the order in
// which they are built and started. The slice is the caller's.
func Components() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok, Kueue}
}

// NodeComponents returns those of a node, in the order in which they are built.
// The slice is the caller's.
func NodeComponents() []Component {
	return []Component{Containerd, ContainerdShim, Ctr}
}

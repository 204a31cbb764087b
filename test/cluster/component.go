package cluster

// Component names one program of the control plane. It is also the name of its
// binary and, with ".log", of its log file.
type Component string

// The components this package can build and run.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kwok              Component = "kwok"
)

// recipe says where a component comes from.
type recipe struct {
	module string // whose version in test/controlplane/go.mod is the component's
	pkg    string // the package main
	cold   string // about how long its first build takes on two cores
}

var recipes = map[Component]recipe{
	Etcd:              {"go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "1 minute"},
	APIServer:         {"k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "4 minutes"},
	ControllerManager: {"k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "2 minutes"},
	Scheduler:         {"k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", "1 minute"},
	Kwok:              {"sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", "1 minute"},
}

// Components returns every component, in the order in which they are built and
// started. The slice is the caller's.
func Components() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

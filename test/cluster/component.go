// SPDX-License-Identifier: Apache-2.0

package cluster

// Component names one program of the control plane or of a node. It is also the name of its binary and, with ".log", of its
// log file.
type Component string

// The components this package can build and run.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Kwok              Component = "kwok"
	Kueue             Component = "kueue" // runs only after StartKueue

	// Components of volumes run only after StartVolumes.
	SnapshotController Component = "snapshot-controller"
	CSISnapshotter     Component = "csi-snapshotter"
	CSIProvisioner     Component = "csi-provisioner"

	// SecondAPIServer is the same program as APIServer, with Options.SecondAPIServer.
	SecondAPIServer Component = "kube-apiserver-b"

	// Kubectl is not part of a cluster either: tests run it.
	Kubectl Component = "kubectl"

	// Components of a node are not part of a cluster: test/containerd runs them.
	Containerd     Component = "containerd"
	ContainerdShim Component = "containerd-shim-runc-v2"
	Ctr            Component = "ctr"

	// Object stores are not part of a cluster: test/stores runs them.
	VersityGW Component = "versitygw"
	FakeGCS   Component = "fake-gcs-server"
)

// program is the component whose binary this one runs.
func (c Component) program() Component {
	if c == SecondAPIServer {
		return APIServer
	}
	return c
}

// home is a Go module whose go.mod pins components and all their dependencies.
type home struct {
	dir     string      // below test/controlplane
	names   []Component // whose versions are part of the name of the cache directory
	stamped bool        // the linker writes the version of Kubernetes into the binaries
}

var (
	kubernetesHome = home{dir: ".", names: []Component{APIServer, Etcd, Kwok}, stamped: true}
	// kueueHome is a separate module because Kueue uses older libraries of Kubernetes than the control plane.
	kueueHome = home{dir: "kueue", names: []Component{Kueue}}
	// snapshotsHome is a separate module because kubernetes-csi uses newer libraries than the control plane.
	snapshotsHome = home{dir: "snapshots", names: []Component{SnapshotController, CSIProvisioner}}
	// containerdHome is a separate module because containerd pins its own libraries.
	containerdHome = home{dir: "containerd", names: []Component{Containerd}}
	// Each object store has its own module too.
	versityHome = home{dir: "versitygw", names: []Component{VersityGW}}
	fakeGCSHome = home{dir: "fakegcs", names: []Component{FakeGCS}}
)

// recipe describes how to build a component.
type recipe struct {
	home   home
	module string // whose version in the home's go.mod is the component's
	pkg    string // the package main
	cold   string // approximate duration of its first build on two cores
}

const (
	snapshotterModule       = "github.com/kubernetes-csi/external-snapshotter/v8"
	snapshotterClientModule = "github.com/kubernetes-csi/external-snapshotter/client/v8"
	provisionerModule       = "github.com/kubernetes-csi/external-provisioner/v6"
	containerdModule        = "github.com/containerd/containerd/v2"
)

var recipes = map[Component]recipe{
	Etcd:              {kubernetesHome, "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "1 minute"},
	APIServer:         {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "4 minutes"},
	ControllerManager: {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "2 minutes"},
	Kubectl:           {kubernetesHome, "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kubectl", "1 minute"},
	Kwok:              {kubernetesHome, "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", "1 minute"},
	Kueue:             {kueueHome, "sigs.k8s.io/kueue", "sigs.k8s.io/kueue/cmd/kueue", "5 minutes"},
	Containerd:        {containerdHome, containerdModule, containerdModule + "/cmd/containerd", "2 minutes"},
	ContainerdShim:    {containerdHome, containerdModule, containerdModule + "/cmd/containerd-shim-runc-v2", "10 seconds"},
	Ctr:               {containerdHome, containerdModule, containerdModule + "/cmd/ctr", "10 seconds"},
	VersityGW:         {versityHome, "github.com/versity/versitygw", "github.com/versity/versitygw/cmd/versitygw", "1 minute"},
	FakeGCS:           {fakeGCSHome, "github.com/fsouza/fake-gcs-server", "github.com/fsouza/fake-gcs-server", "1 minute"},

	SnapshotController: {snapshotsHome, snapshotterModule, snapshotterModule + "/cmd/snapshot-controller", "2 minutes"},
	CSISnapshotter:     {snapshotsHome, snapshotterModule, snapshotterModule + "/cmd/csi-snapshotter", "10 seconds"},
	CSIProvisioner:     {snapshotsHome, provisionerModule, provisionerModule + "/cmd/csi-provisioner", "30 seconds"},
}

// Components returns every component of the control plane, in the order in
// which they are built and started. The slice is the caller's.
func Components() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Kwok, Kueue}
}

// VolumeComponents returns the components that StartVolumes adds to a control plane, in the order in which they are built and
// started. The slice is the caller's.
func VolumeComponents() []Component {
	return []Component{SnapshotController, CSISnapshotter, CSIProvisioner}
}

// NodeComponents returns the components of a node, in the order in which they are built. The slice is the caller's.
func NodeComponents() []Component {
	return []Component{Containerd, ContainerdShim, Ctr}
}

// StoreComponents returns the object stores. The slice is the caller's.
func StoreComponents() []Component { return []Component{VersityGW, FakeGCS} }

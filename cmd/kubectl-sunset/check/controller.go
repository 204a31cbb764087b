// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
)

// The Lease of the controller, and the namespace of the chart.
const (
	leaseName        = "sunset-controller"
	defaultNamespace = "sunset-system"
)

// clock compares the clock of this computer with that of the API server, which sends whole seconds.
func (i *installation) clock() Check {
	ahead := i.Now.Sub(i.at)
	if ahead.Abs() <= skew.Max {
		return Check{Name: "clock", Result: Pass, Message: fmt.Sprintf("the clocks of this computer and of the API server differ by %s at most", skew.Max)}
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return Check{"clock", Warn, fmt.Sprintf("the clock of this computer is %s %s that of the API server", duration.HumanDuration(ahead.Abs()), direction),
		"correct it: the command line computes due times and ages with it"}
}

// controller checks the Deployment of the controller, its version, and its Lease.
func (i *installation) controller(ctx context.Context) []Check {
	found, err := i.Controller(ctx, i.Namespace)
	namespace, image := cmp.Or(i.Namespace, defaultNamespace), ""
	if found != nil {
		namespace, image = found.Namespace, found.Image
	}
	replicas := replicasOf(found)
	if err != nil {
		replicas = unreadable("controller", err)
	}
	return []Check{replicas, compareVersions(i.Version, image), i.leader(ctx, namespace)}
}

func replicasOf(c *cluster.Controller) Check {
	const name = "controller"
	if c == nil {
		return Check{name, Fail, "no Deployment has label " + cluster.ControllerLabel, "install the controller, or name its namespace with -n"}
	}
	where := fmt.Sprintf("Deployment %s/%s", c.Namespace, c.Name)
	message := fmt.Sprintf("%s: %d of %d replicas are ready", where, c.Ready, c.Replicas)
	logs := fmt.Sprintf("check its Pods: kubectl -n %s logs -l %s --prefix", c.Namespace, cluster.ControllerLabel)
	switch {
	case c.Replicas == 0:
		return Check{name, Fail, where + " has no replicas", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", c.Namespace, c.Name)}
	case c.Ready == 0:
		return Check{name, Fail, message, logs}
	case c.Ready < c.Replicas:
		return Check{name, Warn, message, logs}
	default:
		return Check{Name: name, Result: Pass, Message: message}
	}
}

// compareVersions compares the version of this program with the tag of the controller's image.
func compareVersions(client, image string) Check {
	const name = "version"
	tag := load.ImageTag(image)
	switch {
	case tag == "" && image == "":
		return Check{Name: name, Result: Skip, Message: "the version of the controller is not known"}
	case tag == "":
		return Check{Name: name, Result: Skip, Message: "the version of the controller is not known: its image has no tag: " + image}
	case tag == client:
		return Check{Name: name, Result: Pass, Message: "kubectl sunset and the controller are " + tag}
	default:
		return Check{name, Warn, fmt.Sprintf("kubectl sunset is %s, the controller is %s", client, tag), "install the plugin of the version that runs in the cluster"}
	}
}

// leader checks that a replica has renewed the Lease recently. It compares the Lease with the clock of the API server.
func (i *installation) leader(ctx context.Context, namespace string) Check {
	const name = "leader"
	kind := cluster.Kind{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases")}
	object, err := i.Get(ctx, kind, namespace, leaseName)
	if apierrors.IsNotFound(err) {
		return Check{name, Warn, fmt.Sprintf("Lease %s/%s does not exist: no replica has led yet, or the controller runs with --leader-elect=false", namespace, leaseName),
			"check the log of the controller"}
	}
	lease := &coordinationv1.Lease{}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, lease)
	}
	if err != nil {
		return unreadable(name, err)
	}
	return leading(lease, i.at)
}

func leading(lease *coordinationv1.Lease, at time.Time) Check {
	const name = "leader"
	where := fmt.Sprintf("Lease %s/%s", lease.Namespace, lease.Name)
	next := "check the Pods of the controller; until a replica leads, Sunset deletes nothing"
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" || lease.Spec.RenewTime == nil {
		return Check{name, Fail, "no replica leads: " + where + " has no holder", next}
	}
	age := max(0, at.Sub(lease.Spec.RenewTime.Time))
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if age > lasts+skew.Max {
		return Check{name, Fail, fmt.Sprintf("no replica leads: %s renewed %s %s ago, and it lasts %s", holder, where, duration.HumanDuration(age), lasts), next}
	}
	return Check{Name: name, Result: Pass, Message: fmt.Sprintf("%s leads, and renewed %s less than %s ago", holder, where, lasts+skew.Max)}
}

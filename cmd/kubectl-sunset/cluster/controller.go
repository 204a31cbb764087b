// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// ControllerLabel is the label of the controller's Deployment.
const ControllerLabel = "app.kubernetes.io/name=sunset-controller"

// controllerContainer is the container of the controller. Other containers are those that the cluster's users add.
const controllerContainer = "controller"

// Controller is the state of the controller's Deployment.
type Controller struct {
	Namespace, Name string
	Image           string // as the Deployment names it
	Replicas, Ready int32
}

// Controller finds the Deployment of the controller in a namespace, or in all if namespace is empty. It returns nil if no
// Deployment has the label.
func (c *Cluster) Controller(ctx context.Context, namespace string) (*Controller, error) {
	found := &appsv1.DeploymentList{}
	err := c.raw.Get().AbsPath("/apis/apps/v1").Namespace(namespace).Resource("deployments").Param("labelSelector", ControllerLabel).
		Do(ctx).Into(found)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; you need permission to list deployments %s; -n sets the namespace of the controller", err, where(namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("find the controller: %w", err)
	}
	if len(found.Items) == 0 {
		return nil, nil
	}
	deployment := &found.Items[0]
	controller := &Controller{
		Namespace: deployment.Namespace, Name: deployment.Name, Replicas: ptr.Deref(deployment.Spec.Replicas, 1), Ready: deployment.Status.ReadyReplicas,
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if controller.Image == "" || container.Name == controllerContainer {
			controller.Image = container.Image
		}
	}
	return controller, nil
}

package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerLabel is the label of the controller's Deployment.
const ControllerLabel = "app.kubernetes.io/name=sunset-controller"

// controllerContainer is the container of the controller. Other containers are those that the cluster's users add.
const controllerContainer = "controller"

// ControllerImage returns the image of the controller, as its Deployment names it. It searches a namespace, or all if namespace is
// empty. It returns an empty string if no Deployment has the label.
func (c *Cluster) ControllerImage(ctx context.Context, namespace string) (string, error) {
	found, err := c.objects.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: ControllerLabel})
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; you need permission to list deployments %s; -n sets the namespace of the controller", err, where(namespace))
	}
	if err != nil {
		return "", fmt.Errorf("find the controller: %w", err)
	}
	image := ""
	for _, item := range found.Items {
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &deployment); err != nil {
			return "", fmt.Errorf("find the controller: %w", err)
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			if image == "" || container.Name == controllerContainer {
				image = container.Image
			}
		}
	}
	return image, nil
}

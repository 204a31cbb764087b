// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
)

func (c *Config) newPermissionChecker(mgr manager.Manager) (*permissions.Checker, error) {
	reviews, err := authorizationclient.NewForConfigAndClient(c.Rest, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return permissions.New(reviews.SubjectAccessReviews(), mgr.GetRESTMapper(), c.Clock), nil
}

// discover returns a function that asks the API server which kinds it serves, and refreshes the mapper of mgr.
func (c *Config) discover(mgr manager.Manager) (func(context.Context) (meta.RESTMapper, error), error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.Rest, mgr.GetHTTPClient())
	return func(ctx context.Context) (meta.RESTMapper, error) {
		served, err := restmapper.GetAPIGroupResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(d))
		found := restmapper.NewDiscoveryRESTMapper(served)
		if m, ok := mgr.GetRESTMapper().(*mapper); ok && err == nil {
			m.refresh(found)
		}
		return found, err
	}, err
}

func (c *Config) checker() (*policyset.SchemaChecker, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.Rest)
	if err != nil {
		return nil, err
	}
	return policyset.NewSchemaChecker(d.OpenAPIV3(), c.Clock), nil
}

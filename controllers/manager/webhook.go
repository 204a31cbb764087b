// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/engine"
)

// discoverWithin is less than the time limit of a review, because discovery accepts no context.
const discoverWithin = 5 * time.Second

// reviewCache is the size in bytes of the webhook's cache of compiled expressions. The cache is separate, so that reviewed
// rules evict no active rules.
const reviewCache = 4 << 20

// addWebhook adds the webhook that reviews policies, on every replica.
func (c *Config) addWebhook(mgr manager.Manager) error {
	if !c.Webhook.Enabled() {
		return nil
	}
	if err := c.Webhook.Check(); err != nil {
		return fmt.Errorf("webhook address %q: %w", c.Webhook.Address, err)
	}
	compiler, err := engine.NewCompiler(engine.Options{CacheSize: reviewCache})
	if err != nil {
		return err
	}
	hasty := rest.CopyConfig(c.Rest)
	hasty.Timeout = discoverWithin
	kinds, err := discovery.NewDiscoveryClientForConfig(hasty)
	if err != nil {
		return err
	}
	server := &admission.Server{
		Serving: c.Webhook, Rest: c.Rest, Scheme: mgr.GetScheme(), Namespace: c.Namespace, Clock: c.Clock,
		Handler: &admission.Reviewer{
			Compiler: compiler, Protection: c.Protection, Mapper: mgr.GetRESTMapper(), Kinds: kinds, Documents: kinds.OpenAPIV3(),
			Live: mgr.GetAPIReader(),
			CreateReview: func(ctx context.Context, question *authorizationv1.SubjectAccessReview) error {
				return mgr.GetClient().Create(ctx, question)
			},
		},
	}
	if err := mgr.AddReadyzCheck("webhook", server.Ready); err != nil {
		return err
	}
	return mgr.Add(server)
}

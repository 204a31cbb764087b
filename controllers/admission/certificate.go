// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// certify returns a channel that is closed when CertDir contains a certificate and the API server trusts it.
func (s *Server) certify(ctx context.Context, mgr manager.Manager) (<-chan struct{}, error) {
	certified := make(chan struct{})
	if s.Secret == "" {
		close(certified)
		return certified, nil
	}
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Secret}
	if err := mgr.GetAPIReader().Get(ctx, key, &corev1.Secret{}); err != nil {
		return nil, err // the rotator updates the Secret, but does not create it
	}
	return certified, rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      key,
		CertDir:        s.CertDir,
		CAName:         "sunset-webhook-ca",
		CAOrganization: "sunset",
		DNSName:        fmt.Sprintf("%s.%s.svc", s.Service, s.Namespace),
		IsReady:        certified,
		Webhooks:       []rotator.WebhookInfo{{Name: s.Configuration, Type: rotator.Validating}},
		FieldOwner:     "sunset-controller",
		ControllerName: rotatorName(),
	})
}

var rotators atomic.Int64

// rotatorName returns a new name for each call: controller-runtime refuses a name that was used before, and the rotator has no
// option to skip that check.
func rotatorName() string { return fmt.Sprintf("webhook-certificate-%d", rotators.Add(1)) }

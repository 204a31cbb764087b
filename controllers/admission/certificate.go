// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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
	return certified, rotator.AddRotator(oneSecret{mgr, s.Secret}, &rotator.CertRotator{
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

// oneSecret is a manager whose config lists and watches only one of the Secrets of a namespace. The rotator would list all of them,
// and a Role for that would let the controller read Secrets that it does not need.
type oneSecret struct {
	manager.Manager
	name string
}

// GetConfig implements manager.Manager.
func (m oneSecret) GetConfig() *rest.Config {
	config := rest.CopyConfig(m.Manager.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/secrets") {
				r = r.Clone(r.Context())
				query := r.URL.Query()
				query.Set("fieldSelector", fields.OneTermEqualSelector(metav1.ObjectNameField, m.name).String())
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (do roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

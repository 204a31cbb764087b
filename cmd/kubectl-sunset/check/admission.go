// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
)

// admissionPolicies are the ValidatingAdmissionPolicies in crds/admission/policies.yaml, and their bindings.
var admissionPolicies = []string{
	"shape.sunset-k8s.io", "act-as.sunset-k8s.io", "approval.sunset-k8s.io", "cluster-approvals.sunset-k8s.io", "approvals.sunset-k8s.io",
}

// webhookName is the name of the ValidatingWebhookConfiguration.
const webhookName = "sunset"

// admission checks that invalid policies are rejected: by admission policies, by the webhook, or by both.
func (i *installation) admission(ctx context.Context) Check {
	const name = "admission"
	existing := map[string][]string{}
	for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"} {
		of := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		names, err := i.ObjectNames(ctx, cluster.Kind{Resource: of}, "", "")
		if err != nil && !apierrors.IsNotFound(err) {
			return unreadable(name, err)
		}
		existing[resource] = names
	}
	var missing []string
	for _, policy := range admissionPolicies {
		if !slices.Contains(existing["validatingadmissionpolicies"], policy) {
			missing = append(missing, "ValidatingAdmissionPolicy "+policy)
		} else if !slices.Contains(existing["validatingadmissionpolicybindings"], policy) {
			missing = append(missing, "ValidatingAdmissionPolicyBinding "+policy)
		}
	}
	hasWebhook := slices.Contains(existing["validatingwebhookconfigurations"], webhookName)
	const install = "kubectl apply -f crds/admission/policies.yaml"
	switch {
	case len(missing) == len(admissionPolicies) && !hasWebhook:
		return Check{name, Warn, "nothing rejects invalid policies: neither admission policies nor the webhook exist", install}
	case len(missing) == len(admissionPolicies):
		return Check{Name: name, Result: Pass, Message: "only the webhook rejects invalid policies"}
	case len(missing) > 0:
		return Check{name, Warn, "missing: " + first(missing), install}
	case hasWebhook:
		return Check{Name: name, Result: Pass, Message: "admission policies and the webhook reject invalid policies"}
	default:
		return Check{Name: name, Result: Pass, Message: fmt.Sprintf("%d admission policies reject invalid policies, without the webhook", len(admissionPolicies))}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	policiesPath = "/apis/sunset-k8s.io/v1alpha1/clusterretentionpolicies"
	policyName   = "batch"
)

//go:embed policy.yaml
var policyYAML string

// policyView is the policy in one response of the API server.
type policyView struct {
	printed string // the output of kubectl get cret
	status  v1alpha1.RetentionPolicyStatus
}

// readPolicy reads like kubectl get: the server builds the table, and each row contains its object.
func readPolicy(ctx context.Context, client rest.Interface) (policyView, error) {
	data, err := client.Get().AbsPath(policiesPath).Param("includeObject", "Object").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(ctx).Raw()
	if err != nil {
		return policyView{}, err
	}
	answer, err := decodeTable(data)
	if err != nil {
		return policyView{}, err
	}
	view := policyView{printed: kubectlTable(answer)}
	for _, row := range answer.Rows {
		var object v1alpha1.ClusterRetentionPolicy
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return policyView{}, err
		}
		if object.Name == policyName {
			view.status = object.Status
		}
	}
	return view, nil
}

func createPolicy(ctx context.Context, client rest.Interface) error {
	body, err := yaml.YAMLToJSON([]byte(policyYAML))
	if err != nil {
		return err
	}
	return client.Post().AbsPath(policiesPath).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

func setMode(ctx context.Context, client rest.Interface, mode v1alpha1.Mode) error {
	body := fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode)
	return client.Patch(types.MergePatchType).AbsPath(policiesPath, policyName).Body(body).Do(ctx).Error()
}

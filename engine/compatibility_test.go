// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/sunset-k8s/sunset/engine"
)

// TestFunctionNamesDifferFromKubernetes: none has the name of a function of the API server or of CEL, because users would expect its
// meaning.
func TestFunctionNamesDifferFromKubernetes(t *testing.T) {
	theirs := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Functions()
	if theirs["quantity"] == nil || theirs["size"] == nil {
		t.Fatal("the functions of the API server are missing")
	}
	for _, f := range engine.Functions {
		if theirs[f.Name] != nil {
			t.Errorf("the API server has a function %s", f.Name)
		}
	}
}

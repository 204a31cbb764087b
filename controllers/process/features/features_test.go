// SPDX-License-Identifier: Apache-2.0

package features_test

import (
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestOffListsDisabledFeatures(t *testing.T) {
	for value, want := range map[string][]policy.Feature{
		"":                              nil,
		"References=false":              {policy.References},
		"AllBeta=false":                 {policy.NodeImages, policy.OwnerDeletion, policy.References},
		"AllBeta=false,References=true": {policy.NodeImages, policy.OwnerDeletion},
		"AllAlpha=true":                 nil,
	} {
		gates := features.New()
		if err := gates.Set(value); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		expect.Equal(t, fmt.Sprintf("%q", value), want, features.Off(gates))
	}
}

func TestProgramKnowsItsOwnFeatures(t *testing.T) {
	if err := features.New(policy.NodeImages).Set("References=false"); err == nil {
		t.Error("the agent accepts a feature of the controller")
	}
	if err := features.New().Set("Referenzen=false"); err == nil {
		t.Error("an unknown feature is accepted")
	}
}

func TestFeaturesAreExported(t *testing.T) {
	got := map[string]float64{}
	features.Export(func(value float64, name, stage string) { got[name+" "+stage] = value }, []policy.Feature{policy.References})
	want := map[string]float64{"NodeImages BETA": 1, "References BETA": 0, "OwnerDeletion BETA": 1}
	expect.Equal(t, "exported", want, got)
	clear(got)
	features.Export(func(value float64, name, stage string) { got[name] = value }, nil, policy.NodeImages)
	expect.Equal(t, "exported by the agent", map[string]float64{"NodeImages": 1}, got)
}

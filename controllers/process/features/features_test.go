package features_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/policy"
)

func TestWhatIsOff(t *testing.T) {
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
		if diff := cmp.Diff(want, features.Off(gates)); diff != "" {
			t.Errorf("%q: -want +got\n%s", value, diff)
		}
	}
}

func TestAProgramKnowsItsOwnFeatures(t *testing.T) {
	if err := features.New(policy.NodeImages).Set("References=false"); err == nil {
		t.Error("an agent takes a feature of the controller")
	}
	if err := features.New().Set("Referenzen=false"); err == nil {
		t.Error("a feature that nobody knows is taken")
	}
}

func TestFeaturesAreExported(t *testing.T) {
	got := map[string]float64{}
	features.Export(func(value float64, name, stage string) { got[name+" "+stage] = value }, []policy.Feature{policy.References})
	want := map[string]float64{"NodeImages BETA": 1, "References BETA": 0, "OwnerDeletion BETA": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	clear(got)
	features.Export(func(value float64, name, stage string) { got[name] = value }, nil, policy.NodeImages)
	if diff := cmp.Diff(map[string]float64{"NodeImages": 1}, got); diff != "" {
		t.Errorf("an agent's: -want +got\n%s", diff)
	}
}

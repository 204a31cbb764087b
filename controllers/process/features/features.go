// Package features lets an operator switch parts of Sunset off as a whole while they are young, or on. Off means keep: rules that
// need the feature are not executed.
package features

import (
	"slices"

	"k8s.io/component-base/featuregate"

	"github.com/sunset-k8s/sunset/policy"
)

// stages are all features, and how mature each is: Alpha is off by default, Beta on.
var stages = map[policy.Feature]featuregate.FeatureSpec{
	policy.NodeImages:    {Default: true, PreRelease: featuregate.Beta},
	policy.References:    {Default: true, PreRelease: featuregate.Beta},
	policy.OwnerDeletion: {Default: true, PreRelease: featuregate.Beta},
}

// Gates are the features that a program knows. They are a flag.
type Gates interface {
	featuregate.MutableFeatureGate
	String() string
	Type() string
}

// New makes gates of some features, or of all if none is named.
func New(known ...policy.Feature) Gates {
	gates := featuregate.NewFeatureGate()
	specs := map[featuregate.Feature]featuregate.FeatureSpec{}
	for feature, spec := range stages {
		if len(known) == 0 || slices.Contains(known, feature) {
			specs[featuregate.Feature(feature)] = spec
		}
	}
	if err := gates.Add(specs); err != nil {
		panic(err) // stages are wrong
	}
	return gates
}

// Off are the features that are off, by name.
func Off(gates Gates) (off []policy.Feature) {
	for name := range gates.GetAll() {
		feature := policy.Feature(name)
		if _, ours := stages[feature]; ours && !gates.Enabled(name) { // AllAlpha and AllBeta are none
			off = append(off, feature)
		}
	}
	slices.Sort(off)
	return off
}

// Metric, its help and its labels are how a program exports its features: 1 for one that is on, else 0.
const (
	Metric     = "sunset_feature_enabled"
	MetricHelp = "Whether a feature is on, with its stage: 1 or 0."
)

// MetricLabels are the names of the labels of Metric.
var MetricLabels = []string{"name", "stage"}

// Export tells the value of Metric for some features, or for all if none is named, when some are off.
func Export(set func(value float64, name, stage string), off []policy.Feature, known ...policy.Feature) {
	for feature, spec := range stages {
		if len(known) > 0 && !slices.Contains(known, feature) {
			continue
		}
		value := 1.0
		if slices.Contains(off, feature) {
			value = 0
		}
		set(value, string(feature), string(spec.PreRelease))
	}
}

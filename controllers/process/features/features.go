// SPDX-License-Identifier: Apache-2.0

// Package features has the feature gates of Sunset, with which an operator turns new features on or off. If a feature is off,
// rules that need it are not executed, and their objects are kept.
package features

import (
	"slices"

	"k8s.io/component-base/featuregate"

	"github.com/sunset-k8s/sunset/policy"
)

// stages has all features and their stages: Alpha is off by default, Beta is on.
var stages = map[policy.Feature]featuregate.FeatureSpec{
	policy.NodeImages:    {Default: true, PreRelease: featuregate.Beta},
	policy.References:    {Default: true, PreRelease: featuregate.Beta},
	policy.OwnerDeletion: {Default: true, PreRelease: featuregate.Beta},
}

// Gates is the feature gates of a program. It implements pflag.Value.
type Gates interface {
	featuregate.MutableFeatureGate
	String() string
	Type() string
}

// New returns the gates of some features, or of all features if none is given.
func New(known ...policy.Feature) Gates {
	gates := featuregate.NewFeatureGate()
	specs := map[featuregate.Feature]featuregate.FeatureSpec{}
	for feature, spec := range stages {
		if len(known) == 0 || slices.Contains(known, feature) {
			specs[featuregate.Feature(feature)] = spec
		}
	}
	if err := gates.Add(specs); err != nil {
		panic(err) // a bug in stages
	}
	return gates
}

// Off returns the features that are off, sorted by name.
func Off(gates Gates) (off []policy.Feature) {
	for name := range gates.GetAll() {
		feature := policy.Feature(name)
		if _, ours := stages[feature]; ours && !gates.Enabled(name) { // AllAlpha and AllBeta are not features
			off = append(off, feature)
		}
	}
	slices.Sort(off)
	return off
}

// Metric and MetricHelp describe the gauge with which a program exports its features.
const (
	Metric     = "sunset_feature_enabled"
	MetricHelp = "1 if a feature is on, 0 if it is off, with its stage."
)

// MetricLabels is the names of the labels of Metric.
var MetricLabels = []string{"name", "stage"}

// Export passes the values of Metric to set, for the known features, or for all features if none is given: 0 for features in
// off, 1 for the others.
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

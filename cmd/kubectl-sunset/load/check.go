// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// Check adds warnings about the policies that need no cluster: unknown kinds and fields, and overrides of unknown rules. It
// also uses the CustomResourceDefinitions in the files.
func (in *Contents) Check(loader *Loader) {
	known := BuiltinKinds()
	for _, d := range in.definitions {
		known.define(d)
	}
	rules := in.clusterRules()
	for i := range in.Policies {
		p := &in.Policies[i]
		p.Checked = known.Check(p.Policy, loader.Programs)
		for _, o := range p.Overrides {
			_, isHere := rules[o.Policy]
			for _, problem := range policy.UnknownTargets([]*policy.Override{o}, rules) {
				if isHere || problem.Hint != "" { // otherwise the policy may be in the cluster
					p.Checked = append(p.Checked, problem)
				}
			}
		}
	}
}

// FindWithoutPolicy finds the named files and directories without a policy and without a CustomResourceDefinition that a policy
// may target.
func (in *Contents) FindWithoutPolicy(files *Files) {
	in.WithoutPolicy = slices.DeleteFunc(slices.Clone(files.given), func(path string) bool {
		return slices.ContainsFunc(files.files, func(file File) bool { return file.given == path && in.relevant[file.Name] })
	})
}

// clusterRules returns the names of the rules of each ClusterRetentionPolicy. Files that are alternatives may contain several
// policies with one name.
func (in *Contents) clusterRules() map[string][]string {
	rules := map[string][]string{}
	for _, p := range in.Policies {
		if p.Namespace != "" || p.Name == "" {
			continue
		}
		for _, r := range p.Rules {
			rules[p.Name] = append(rules[p.Name], r.ID.Rule)
		}
	}
	return rules
}

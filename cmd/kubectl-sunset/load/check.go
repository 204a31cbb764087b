package load

import (
	"github.com/sunset-k8s/sunset/policy"
)

// Check finds what may be wrong with the policies by what is known without a cluster: kinds and their fields, those of
// CustomResourceDefinitions in the files among them, and rules that overrides name.
func (in *Contents) Check(loader *Loader) {
	known := BuiltinKinds()
	for _, object := range in.definitions {
		known.Define(object)
	}
	rules := in.clusterRules()
	for i := range in.Policies {
		p := &in.Policies[i]
		p.Checked = known.Check(p.Policy, loader.Programs)
		for _, o := range p.Overrides {
			_, isHere := rules[o.Policy]
			for _, problem := range policy.UnknownTargets([]*policy.Override{o}, rules) {
				if isHere || problem.Hint != "" { // else the policy may well be in the cluster
					p.Checked = append(p.Checked, problem)
				}
			}
		}
	}
}

// FindWithoutPolicy finds which of the files and directories that were named hold no policy, and no CustomResourceDefinition that policies may be about.
func (in *Contents) FindWithoutPolicy(files *Files) {
	in.WithoutPolicy = files.Without(in.relevant)
}

// clusterRules are the names of the rules of each ClusterRetentionPolicy. Files that are alternatives to each other may have several
// policies of one name.
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

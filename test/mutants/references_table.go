// SPDX-License-Identifier: Apache-2.0

package mutants

const (
	graphTest  = "./controllers/kube/references TestGraphIsWhatAWalkOverEverythingFinds"
	fieldsTest = "./controllers/kube/references/extract TestGraphOfObjectsIsWhatAWalkOverTheirFieldsFinds"
)

// referencesTable changes what is known about how objects relate to each other.
var referencesTable = map[string]Mutant{
	"graph: an object that is created again is missing": {
		File: "controllers/kube/references/object.go", Test: graphTest,
		Old: "return other == r })",
		New: "return other != nil })",
	},
	"graph: rules are not evaluated again when a target appears": {
		File: "controllers/kube/references/object.go", Test: graphTest,
		Old: "\tfor _, b := range to.by {\n\t\tx.noteRelations(b.from)\n\t}\n",
		New: "",
	},
	"graph: a lost target does not start the quiet period again": {
		File: "controllers/kube/references/object.go", Test: graphTest,
		Old: "\t\tx.noteRemoved(node)\n",
		New: "",
	},
	"graph: a new target that is missing does not start the quiet period again": {
		File: "controllers/kube/references/change.go", Test: graphTest,
		Old: "if kept < before || kept < len(known.edges) {",
		New: "if kept < before {",
	},
	"graph: another object with the labels is not selected": {
		File: "controllers/kube/references/selection.go", Test: graphTest,
		Old: "\t\t\ts.count++\n",
		New: "",
	},
	"graph: a new selector selects no earlier objects": {
		File: "controllers/kube/references/selection.go", Test: graphTest,
		Old: "\ts.count += g.objects\n",
		New: "",
	},
	"graph: a selector selects objects of another namespace": {
		File: "controllers/kube/references/selection.go", Test: graphTest,
		Old: "g := x.group(kindInNamespace{w.As, r.name.Namespace}, w.Text)",
		New: "g := x.group(kindInNamespace{w.As, \"n\"}, w.Text)",
	},
	"graph: a bare name of an unknown kind is two targets": {
		File: "controllers/kube/references/uses.go", Test: graphTest,
		Old: "e.to.Namespace == \"\" && !referredKinds.Has",
		New: "e.to.Namespace == \"\" && referredKinds.Has",
	},
	"graph: an object of which only its existence is known has no targets": {
		File: "controllers/kube/references/uses.go", Test: graphTest,
		Old: "return r.object.version == \"\" })",
		New: "return r.object == nil })",
	},
	"graph: claims that a StatefulSet may have are missing": {
		File: "controllers/kube/references/uses.go", Test: "./controllers/kube/references TestPossibleNamesAreNoTargets",
		Old: "if possible.Has(e.to.Kind) {",
		New: "if possible.Len() > 100 {",
	},
	"extract: a reference leads to the namespace of the referrer": {
		File: "controllers/kube/references/extract/row.go", Test: fieldsTest,
		Old: "Namespace: cmp.Or(n.Namespace, namespace), Name",
		New: "Namespace: namespace, Name",
	},
	"extract: a template has no labels": {
		File: "controllers/kube/references/extract/table.go", Test: fieldsTest,
		Old: "\t\tall = builtin.PodLabels()\n",
		New: "\t\tall = builtin.PodLabels()[:1]\n",
	},
	"unused: the declarations of a copy of a sample do not count": {
		File: "cmd/kubectl-sunset/command/unused.go", Test: "./cmd/kubectl-sunset/command TestUnusedObjectsOfTheCluster",
		Old: "declarations(current.policies, inFiles...)",
		New: "declarations(current.policies, append(inFiles, input.Policies...)...)",
	},
}

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
		Old: "\tif to.is != r {\n\t\treturn\n\t}\n",
		New: "",
	},
	"graph: rules are not evaluated again when a target appears": {
		File: "controllers/kube/references/object.go", Test: graphTest,
		Old: "\tif !existed {\n",
		New: "\tif existed {\n",
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
		Old: "g := x.group(space{w.As, r.name.Namespace}, w.Text)",
		New: "g := x.group(space{w.As, \"n\"}, w.Text)",
	},
	"graph: a bare name of an unknown kind is two targets": {
		File: "controllers/kube/references/uses.go", Test: graphTest,
		Old: "if t.Namespace == \"\" && !builtin.Referred.Has(t.Kind.GroupKind()) {",
		New: "if t.Namespace == \"\" && builtin.Referred.Has(t.Kind.GroupKind()) {",
	},
	"graph: an object of which only its existence is known has no targets": {
		File: "controllers/kube/references/uses.go", Test: graphTest,
		Old: "if known.is != nil && known.is.object.version != \"\" {\n\t\tu.Unread",
		New: "if known.is != nil {\n\t\tu.Unread",
	},
	"graph: an object misses targets that no rule asks for": {
		File: "controllers/kube/references/uses.go", Test: fieldsTest,
		Old: " || known.is.object.version == \"\" {",
		New: " {",
	},
	"graph: claims that a StatefulSet may have are missing": {
		File: "controllers/kube/references/uses.go", Test: "./controllers/kube/references TestPossibleNamesAreNoTargets",
		Old: "if len(possible) > 0 && possible.Has(t.Kind.GroupKind()) {",
		New: "if len(possible) > 100 && possible.Has(t.Kind.GroupKind()) {",
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
	"extract: a kind may be read at two versions for its targets": {
		File: "controllers/kube/references/extract/table.go", Test: "./controllers/kube/referrers TestTableRefusesTargetsFromTwoVersions",
		Old: "if other.own && kind != d.From && kind.GroupKind() == d.From.GroupKind() {",
		New: "if other.own && kind != d.From && kind.Kind == \"\" {",
	},
	"unused: the declarations of a copy of a sample do not count": {
		File: "cmd/kubectl-sunset/command/unused.go", Test: "./cmd/kubectl-sunset/command TestUnusedObjectsOfTheCluster",
		Old: "declarations(current.policies, fromFiles...)",
		New: "declarations(current.policies, append(fromFiles, input.Policies...)...)",
	},
}

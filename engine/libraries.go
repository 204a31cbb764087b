// SPDX-License-Identifier: Apache-2.0

package engine

// Library is a set of functions of CEL or Kubernetes that have the same meaning here.
type Library struct {
	Name string
	Doc  string // what it is for, with examples of its functions
	Link string
}

const (
	celDocs        = "https://github.com/google/cel-spec/blob/master/doc/langdef.md"
	extensionDocs  = "https://github.com/google/cel-go/blob/master/ext/README.md"
	kubernetesDocs = "https://kubernetes.io/docs/reference/using-api/cel/"
)

// Libraries returns the libraries that expressions can use, in the order of the documentation. libraryOptions adds them
// to the environment.
func Libraries() []Library {
	return []Library{
		{"The language", "operators, `has()`, `size()`, `timestamp()`, `duration()`, `matches()`, and the loops `all`, `exists`, `exists_one`, `map`, `filter`", celDocs},
		{"Optional values", "`object.?a.?b`, `x[?'key']`, `.orValue(…)`, `.hasValue()`, `.optMap(v, …)`", celDocs + "#optional-values"},
		{"Bindings", "`cel.bind(name, value, expression)`", extensionDocs + "#bindings"},
		{"Strings", "`split`, `join`, `replace`, `lowerAscii`, `substring`, `trim`, `format`, `reverse` and more", extensionDocs + "#strings"},
		{"Math", "`math.greatest`, `math.least`, `math.ceil`, `math.abs` and more", extensionDocs + "#math"},
		{"Lists", "`first`, `last`, `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `lists.range`", extensionDocs + "#lists"},
		{"Sets", "`sets.contains`, `sets.equivalent`, `sets.intersects`", extensionDocs + "#sets"},
		{"Loops with two variables", "`labels.exists(key, value, …)`, `transformList`, `transformMap`, `transformMapEntry`", extensionDocs + "#twovarcomprehensions"},
		{"Kubernetes lists", "`isSorted`, `sum`, `min`, `max`, `indexOf`", kubernetesDocs + "#kubernetes-list-library"},
		{"Kubernetes regex", "`find`, `findAll`", kubernetesDocs + "#kubernetes-regex-library"},
		{"Kubernetes URL", "`url(…)` of at most about 30 KB, `isURL`, `getHost`, `getQuery`", kubernetesDocs + "#kubernetes-url-library"},
		{"Kubernetes quantity", "`quantity('250m')`, `isQuantity`, `isGreaterThan`, `add`", kubernetesDocs + "#kubernetes-quantity-library"},
		{"Kubernetes IP and CIDR", "`ip(…)`, `cidr(…)`, `isIP`, `containsIP`", kubernetesDocs + "#kubernetes-ip-address-library"},
		{"Kubernetes format", "`format.dns1123Label().validate(…)` and other formats", kubernetesDocs + "#kubernetes-format-library"},
		{"Kubernetes semver", "`semver('1.2.3')`, `isSemver`, `isLessThan`, `major`", kubernetesDocs + "#kubernetes-semver-library"},
	}
}

// SPDX-License-Identifier: Apache-2.0

package mutants

// engineTable changes the fields that the engine reads from one object.
var engineTable = map[string]Mutant{
	"a quantity has any exponent": {
		File: "engine/result.go", Test: "./engine TestBytes",
		Old: "len(text)-e <= longestExponent",
		New: "len(text)-e <= 2*longestExponent",
	},
	"a change of bytes removes marks": {
		File: "engine/load.go", Test: "./engine TestMarkStaysIfBytesChanges",
		Old: "program.markKey)",
		New: "program.Key())",
	},
	"engine: a condition with status False counts as the end": {
		File: "engine/conditions.go", Test: "./engine TestEnds",
		Old: "if !c.isTrue() || !slices.Contains(kinds",
		New: "if !slices.Contains(kinds",
	},
	"engine: rules without a selector do not select an object that others select": {
		File: "policy/selector_index.go", Test: "./engine TestSelectionFindsEveryRuleThatSelects",
		Old: "\tfound = append(found, x.always...)\n",
		New: "",
	},
	"engine: a mark on an object that its rule no longer selects is ignored": {
		File: "engine/selection.go", Test: "./engine TestSelectionFindsEveryRuleThatSelects",
		Old: "marked = append(marked, s.byMark[mark]...)",
		New: "_ = mark",
	},
	"engine: only one of the values of a selector selects": {
		File: "policy/selector_index.go", Test: "./engine TestSelectionFindsEveryRuleThatSelects",
		Old: "for _, l := range rarest {",
		New: "for _, l := range rarest[:1] {",
	},
	"engine: a label with an empty value is missing": {
		File: "engine/selector.go", Test: "./engine TestLabelMayHaveAnEmptyValue",
		Old: "value, ok := l[name].(string)\n\treturn value, ok",
		New: "value, ok := l[name].(string)\n\treturn value, ok && value != \"\"",
	},
	"engine: a TTL annotation of zero is invalid": {
		File: "engine/subject.go", Test: "./engine TestSubjectOf",
		Old: "err == nil && ttl >= 0",
		New: "err == nil && ttl > 0",
	},
	"engine: the last of several contradictory conditions counts": {
		File: "engine/finishers.go", Test: "./engine TestEnds",
		Old: "case slices.Contains(failure, kind):\n\t\t\t\treturn failed",
		New: "case slices.Contains(failure, kind):\n\t\t\t\tresult = failed",
	},
	"engine: the end condition that is listed last counts": {
		File: "engine/conditions.go", Test: "./engine TestEnds",
		Old: "\t\tlatest = policy.Latest(latest, t)\n\t}\n\treturn latest, nil\n}\n\n// latestTransition",
		New: "\t\tlatest = t\n\t}\n\treturn latest, nil\n}\n\n// latestTransition",
	},
	"engine: the first of several end conditions counts": {
		File: "engine/conditions.go", Test: "./engine TestEnds",
		Old: "\t\tlatest = policy.Latest(latest, t)\n\t}\n\treturn latest, nil\n}\n\n// latestTransition",
		New: "\t\tif latest.IsZero() {\n\t\t\tlatest = t\n\t\t}\n\t}\n\treturn latest, nil\n}\n\n// latestTransition",
	},
	"scope: a variable in backticks is not part of the key": {
		File: "engine/syntax/names.go", Test: "./engine TestVariableInBackticksIsPartOfTheKey",
		Old: "\\\\.\\\\s*`?([a-zA-Z_]",
		New: "\\\\.\\\\s*([a-zA-Z_]",
	},
	"scope: the alias of a variable may be that of a macro": {
		File: "engine/scope.go", Test: "./engine TestVariableMeansTheSameEverywhere",
		Old: "const aliasPrefix = \"@v_\"",
		New: "const aliasPrefix = \"@\"",
	},
	"scope: a loop variable hides a type": {
		File: "engine/scope.go", Test: "./engine TestLoopVariableHidesNoType",
		Old: "if hidden := hiddenType(checked, v); hidden != nil {",
		New: "if hidden := hiddenType(checked, v); hidden != nil && v.name == \"\" {",
	},
	"decoder: annotations are not read with every field of metadata": {
		File: "engine/decoder.go", Test: "./engine TestReferrerIsDecodedWithComputedFieldsOfMetadata",
		Old: "all.path(\"metadata.annotations\") // so",
		New: "// so",
	},
}

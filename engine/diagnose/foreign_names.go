// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// foreignFunctions maps functions of other languages to formats of CEL expressions for the receiver and the arguments.
var foreignFunctions = map[string]string{
	"count": "size(%s)", "len": "size(%s)", "length": "size(%s)",
	"empty": "size(%s) == 0", "isEmpty": "size(%s) == 0",
	"eq": "%s == %s", "equals": "%s == %s", "ne": "%s != %s", "isNull": "!has(%s)", "not": "!(%s)", "xor": "%s != %s",
	"defined": "has(%s)", "isDefined": "has(%s)", "isset": "has(%s)",
	"lower": "%s.lowerAscii()", "toLower": "%s.lowerAscii()", "toLowerCase": "%s.lowerAscii()",
	"upper": "%s.upperAscii()", "toUpper": "%s.upperAscii()", "toUpperCase": "%s.upperAscii()",
	"hasPrefix": "%s.startsWith(%s)", "beginsWith": "%s.startsWith(%s)", "hasSuffix": "%s.endsWith(%s)",
	"match": "%s.matches(%s)", "regexMatch": "%s.matches(%s)", "test": "%s.matches(%s)", "strip": "%s.trim()",
	"containsKey": "%[2]s in %[1]s", "hasKey": "%[2]s in %[1]s",
	"str": "string(%s)", "toString": "string(%s)", "atoi": "int(%s)", "parseInt": "int(%s)", "toInt": "int(%s)",
}

// foreignLoops maps loop functions of other languages to those of CEL.
var foreignLoops = map[string]string{
	"any": "exists", "some": "exists", "every": "all", "forEach": "all", "select": "filter", "where": "filter", "collect": "map",
}

// foreignValues maps values of other languages to hints.
var foreignValues = map[string]string{
	"True": "write true; put strings in quotes, such as the status of a condition: 'True'", "TRUE": "write true",
	"False": "write false; put strings in quotes, such as the status of a condition: 'False'", "FALSE": "write false",
	"nil": presenceHint, "None": presenceHint, "NULL": presenceHint, "Null": presenceHint, "undefined": presenceHint,

	"authorizer":      "an expression cannot check permissions: remove it",
	"namespaceObject": "an expression cannot read the namespace: select namespaces by label, such as namespaceSelector: {matchLabels: {env: dev}} in spec",
	"params":          "parameters do not exist here: write the value, or declare it in spec.variables",
	"request":         "an expression cannot read a request: read fields of the object, such as object.metadata.namespace",
}

// foreignObjects matches the names of the object in admission policies.
var foreignObjects = regexp.MustCompile(`^(request\.(object|oldObject)|input\.review\.object|variables\.anyObject)\b`)

// presence returns a test for the field that is compared with nothing, an operand for an absent field; empty for none.
func (d *diagnosis) presence(nothing int64) (instead string) {
	for e := range syntax.All(d.tree.Expr()) {
		not, compares := map[string]string{operators.Equals: "!", operators.NotEquals: ""}[syntax.Function(e)]
		if !compares {
			continue
		}
		for i, arg := range e.AsCall().Args() {
			switch compared := e.AsCall().Args()[1-i]; {
			case arg.ID() != nothing:
			case syntax.Function(compared) == operators.Index && len(d.textsOf(compared)) == 2:
				instead = not + fmt.Sprintf("(%[2]s in %[1]s)", d.textsOf(compared)...)
			case compared.Kind() == ast.SelectKind:
				instead = not + "has(" + syntax.Format(compared, d.tree.SourceInfo()) + ")"
			}
		}
	}
	return instead
}

// inCEL returns what to write instead of a function of another language; empty if it is unknown.
func (d *diagnosis) inCEL(function string, c celError) string {
	form, known := foreignFunctions[function]
	texts := d.textsOf(d.call(c))
	if !known || len(texts) != max(strings.Count(form, "%"), 1) {
		return ""
	}
	return "write " + fmt.Sprintf(form, texts...)
}

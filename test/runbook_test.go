// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestRunbookHasEverything: docs/reference/conditions-and-reasons.md lists every condition and its reasons, docs/reference/verdicts.md
// lists every reason of a verdict, and they list no others.
func TestRunbookHasEverything(t *testing.T) {
	var page string
	for _, name := range []string{"conditions-and-reasons.md", "verdicts.md"} {
		data, err := os.ReadFile(filepath.Join(root, "docs", "reference", name))
		expect.NoError(t, err)
		page += string(data) + "\n"
	}
	conditions, reasons := conditionsAndReasons(t)
	verdicts := map[string]bool{}
	for _, r := range policy.Reasons() {
		verdicts[string(r)] = true
	}
	for heading, want := range map[string]map[string]bool{
		"| condition | of | True when |":                                     conditions,
		"| reason | of | what to do |":                                       reasons,
		"| reason | what it means | what to do if you want another result |": verdicts,
	} {
		got := rows(t, page, heading)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !got[name] {
				t.Errorf("%s: %s is missing", heading, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if !want[name] {
				t.Errorf("%s: %s is not used", heading, name)
			}
		}
	}
}

// rows returns the first cells of all tables with a heading.
func rows(t *testing.T, page, heading string) map[string]bool {
	t.Helper()
	tables := strings.Split(page, heading+"\n")[1:]
	if len(tables) == 0 {
		t.Fatalf("table %s does not exist", heading)
	}
	names := map[string]bool{}
	for _, table := range tables {
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
			names[row[1]] = true
		}
	}
	return names
}

// conditionsAndReasons returns the types of conditions and their reasons.
func conditionsAndReasons(t *testing.T) (conditions, reasons map[string]bool) {
	t.Helper()
	conditions, reasons = map[string]bool{}, map[string]bool{}
	all := sources(t)
	named := constants(all)
	for name, value := range named["policy/v1alpha1"] {
		if strings.HasPrefix(name, "Condition") {
			conditions[value] = true
		}
	}
	for _, s := range all {
		if s.isTest || !under(s.dir, "controllers") || under(s.dir, "controllers/node/images") { // the agent has its own text for errors of this package
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			for _, e := range given(n) {
				if reason, ok := text(e, named[s.dir]); ok {
					reasons[reason] = true
				} else if reason, ok := ofVerdict(e, named["policy"]); ok {
					reasons[reason] = true
				} else if !isCopied(e) {
					t.Errorf("%s: write reasons of conditions as literals or constants, so that this test finds them: %s", s.name, typeName(e))
				}
			}
			return true
		})
	}
	for _, of := range policy.Lasting() {
		reasons[string(of)] = true
	}
	if len(conditions) < 10 || len(reasons) < 25 {
		t.Fatalf("found only %d conditions and %d reasons", len(conditions), len(reasons))
	}
	return conditions, reasons
}

// ofVerdict returns the reason in string(policy.REASON).
func ofVerdict(e ast.Expr, named map[string]string) (string, bool) {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if of, ok := call.Args[0].(*ast.SelectorExpr); ok {
			said, known := named[of.Sel.Name]
			return said, known
		}
	}
	return "", false
}

// isCopied reports whether an expression is a field, or a reason of a verdict that is not a constant: the test finds its
// origin elsewhere.
func isCopied(e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		return typeName(call.Fun) == "string"
	}
	_, ok := e.(*ast.SelectorExpr)
	return ok
}

// TestReasonsListAllConstants: policy.Reasons contains each constant, so that the pages and other tests cover it.
func TestReasonsListAllConstants(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if s.dir != "policy" || s.isTest {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Type == nil || typeName(spec.Type) != "Reason" {
				return true
			}
			for i, value := range spec.Values {
				found++
				if said, ok := text(value, nil); !ok || !slices.Contains(policy.Reasons(), policy.Reason(said)) {
					t.Errorf("policy.Reasons lacks %s", spec.Names[i].Name)
				}
			}
			return true
		})
	}
	if want := len(policy.Reasons()); found != want {
		t.Errorf("found %d constants, but policy.Reasons has %d", found, want)
	}
}

// constants returns the values of string constants, by package and name.
func constants(all []source) map[string]map[string]string {
	named := map[string]map[string]string{}
	for _, s := range all {
		if named[s.dir] == nil {
			named[s.dir] = map[string]string{}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, value := range spec.Values {
					if said, ok := text(value, nil); ok && i < len(spec.Names) {
						named[s.dir][spec.Names[i].Name] = said
					}
				}
			}
			return true
		})
	}
	return named
}

// conditionTypes are the types that become a condition.
var conditionTypes = []string{"conditionState", "conditionCause", "SourceError", "Condition", "Delay"}

// given returns the expressions of the reasons in a literal that becomes a condition.
func given(n ast.Node) []ast.Expr {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	if array, ok := literal.Type.(*ast.ArrayType); ok && slices.Contains(conditionTypes, typeName(array.Elt)) {
		var all []ast.Expr
		for _, e := range literal.Elts {
			if one, ok := e.(*ast.CompositeLit); ok {
				all = append(all, reasonOf(one)...)
			}
		}
		return all
	}
	if slices.Contains(conditionTypes, typeName(literal.Type)) {
		return reasonOf(literal)
	}
	return nil
}

// reasonOf returns the field Reason of a literal, or the second field of a literal without field names.
func reasonOf(literal *ast.CompositeLit) []ast.Expr {
	for i, e := range literal.Elts {
		field, named := e.(*ast.KeyValueExpr)
		switch {
		case !named && i == 1:
			return []ast.Expr{e}
		case named && typeName(field.Key) == "Reason":
			return []ast.Expr{field.Value}
		}
	}
	return nil
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}

// text returns the value of an expression that is a string or the name of a string constant.
func text(e ast.Expr, named map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		said, err := strconv.Unquote(e.Value)
		return said, err == nil && strings.HasPrefix(e.Value, `"`)
	case *ast.Ident:
		said, ok := named[e.Name]
		return said, ok
	default:
		return "", false
	}
}

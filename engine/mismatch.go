package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	refused   = regexp.MustCompile(`^(undefined field|found no matching overload|type '(string|bool|int|list\(.*)' does not support field selection)`)
	allowed   = regexp.MustCompile(`overload for ('orValue' applied to 'optional_type|'_\?_:_')|overload for '_[!=]=_' applied to '\((int|uint|double), (int|uint|double)\)'`)
	byText    = regexp.MustCompile(`overload for '_\[_\]' applied to '\(list\(.*\), string\)'$`)
	anyObject = regexp.MustCompile(`applied to '.*(\bnull\b|\bobject\b)`)
)

// mayWork reports whether what the checker refuses by a schema may work at run time: any field may be null, an object of the schema is
// a map that can be indexed and compared as such, numbers of all types are equal, and an expression may give values of several types.
func mayWork(words string) bool {
	return !byText.MatchString(words) && (!refused.MatchString(words) || allowed.MatchString(words) || anyObject.MatchString(words))
}

const absentMessage = "a field that is absent is not null, and to read it is an error"

// servedAsNull are the fields of built-in kinds that the API server gives as null where they have no value, whatever the schema says.
var servedAsNull = regexp.MustCompile(`\.(creationTimestamp|eventTime|(deprecated)?([fF]irst|[lL]ast)Timestamp)$`)

// absence is a comparison of a field of the object with null as CEL asks for the field; empty for any other, where the field may be
// null, and where the expression asks for the field already.
func (d *diagnosis) absence(c complaint) (instead string) {
	call := d.call(c)
	if call == nil || len(call.AsCall().Args()) != 2 {
		return ""
	}
	for i, arg := range call.AsCall().Args() {
		if path := pathOf(call.AsCall().Args()[1-i]); isNull(arg) && strings.HasPrefix(path, objectVariable+".") && !servedAsNull.MatchString(path) && !d.tests(path) {
			instead = d.presence(arg.ID())
		}
	}
	return instead
}

// tests reports whether the expression asks if there is a field.
func (d *diagnosis) tests(path string) (tested bool) {
	ast.PreOrderVisit(d.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		operand, field, ok := testOf(e)
		tested = tested || ok && pathOf(operand)+"."+field == path
	}))
	return tested
}

// undefinedField explains a field that the schema of the object does not have.
func (d *diagnosis) undefinedField(c complaint) finding {
	name := c.caught[1]
	f := finding{message: fmt.Sprintf("the schema has no field %q", name), hint: "check the spelling", field: d.fieldOf(c)}
	provider, ok := d.scope.env.CELTypeProvider().(*schemaTypes)
	if !ok || len(provider.lacking[name]) != 1 {
		return f // two types lack a field of this name, and cel-go does not say which of them it means
	}
	parent := provider.lacking[name][0]
	f.message += " in " + strings.ReplaceAll(parent, "/", ".")
	f.hint = provider.hintAt(parent, name)
	return f
}

// hintAt says what to write for a field that a type does not have: the one of its fields that has nearly that name, the only field of
// the object that has exactly that name, or else the fields that there are.
func (t *schemaTypes) hintAt(parent, name string) string {
	const shown = 12
	names, _ := t.FindStructFieldNames(parent)
	if meant := policy.Closest(name, names); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	if object := t.objects[objectVariable]; object != nil && !strings.Contains(parent, "[]") {
		paths := slices.DeleteFunc(pathsIn(object, objectVariable), func(path string) bool { return !strings.HasSuffix(path, "."+name) })
		if len(paths) == 1 {
			return fmt.Sprintf("did you mean %s?", paths[0])
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return inCommon(b, name) - inCommon(a, name) })
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown:shown], fmt.Sprintf("and %d more", more))
	}
	return "it has " + strings.Join(names, ", ")
}

// inCommon is the length of the longest part that two names share, in whichever case; 0 for one that is too short to say anything.
func inCommon(a, b string) (longest int) {
	const least = 3
	a, b = strings.ToLower(a), strings.ToLower(b)
	for from := range a {
		for to := from + max(longest+1, least); to <= len(a) && strings.Contains(b, a[from:to]); to++ {
			longest = to - from
		}
	}
	return longest
}

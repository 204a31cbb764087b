// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

var (
	refused   = regexp.MustCompile(`^(undefined field|found no matching overload|type '(string|bool|int|list\(.*)' does not support field selection)`)
	allowed   = regexp.MustCompile(`overload for ('orValue' applied to 'optional_type|'_\?_:_')|overload for '_[!=]=_' applied to '\((int|uint|double), (int|uint|double)\)'`)
	byText    = regexp.MustCompile(`overload for '_\[_\]' applied to '\(list\(.*\), string\)'$`)
	anyObject = regexp.MustCompile(`applied to '.*(\bnull\b|\bobject\b)`)
)

// mayWork reports whether an expression that the checker rejects because of a schema may work at run time. Any field
// may be null. An object of the schema is a map that can be indexed and compared as a map. Numbers of different types
// can be equal. An expression may return values of several types.
func mayWork(words string) bool {
	return !byText.MatchString(words) && (!refused.MatchString(words) || allowed.MatchString(words) || anyObject.MatchString(words))
}

const absentMessage = "an absent field is not null, and reading it is an error"

// servedAsNull matches the fields of built-in kinds that the API server returns as null if they have no value,
// regardless of the schema.
var servedAsNull = regexp.MustCompile(`\.(creationTimestamp|eventTime|(deprecated)?([fF]irst|[lL]ast)Timestamp)$`)

// absence returns the replacement for a comparison of a field of the object with null: a test for the field. It is
// empty for any other expression, for a field that may be null, and if the expression already tests for the field.
func (d *diagnosis) absence(c celError) (instead string) {
	call := d.call(c)
	if call == nil || len(call.AsCall().Args()) != 2 {
		return ""
	}
	for i, arg := range call.AsCall().Args() {
		if path := syntax.Path(call.AsCall().Args()[1-i]); isNull(arg) && strings.HasPrefix(path, syntax.ObjectVariable+".") && !servedAsNull.MatchString(path) && !d.tests(path) {
			instead = d.presence(arg.ID())
		}
	}
	return instead
}

// tests reports whether the expression tests for a field.
func (d *diagnosis) tests(path string) bool {
	for e := range syntax.All(d.tree.Expr()) {
		if operand, field, ok := testOf(e); ok && syntax.Path(operand)+"."+field == path {
			return true
		}
	}
	return false
}

// undefinedField explains a field that is missing in the schema of the object.
func (d *diagnosis) undefinedField(c celError) Finding {
	name := c.caught[1]
	f := Finding{Message: fmt.Sprintf("the schema has no field %q", name), Hint: "check the spelling", Field: d.fieldOf(c)}
	provider, ok := d.scope.Env.CELTypeProvider().(*openapi.Types)
	if !ok || len(provider.Lacking(name)) != 1 {
		return f // two types lack a field of this name, and cel-go does not report which one
	}
	parent := provider.Lacking(name)[0]
	f.Message += " in " + strings.ReplaceAll(parent, "/", ".")
	f.Hint = fieldHint(provider, parent, name)
	return f
}

// fieldHint returns the hint for a field that a type does not have: the field of the type with a similar name, the only
// field of the object with exactly this name, or else the existing fields of the type.
func fieldHint(t *openapi.Types, parent, name string) string {
	const shown = 12
	names, _ := t.FindStructFieldNames(parent)
	if meant := policy.Closest(name, names); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	if object := t.Schema(syntax.ObjectVariable); object != nil && !strings.Contains(parent, "[]") {
		paths := slices.DeleteFunc(openapi.Paths(object, syntax.ObjectVariable), func(path string) bool { return !strings.HasSuffix(path, "."+name) })
		if len(paths) == 1 {
			return fmt.Sprintf("did you mean %s?", paths[0])
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return inCommon(b, name) - inCommon(a, name) })
	return "it has " + strings.Join(policy.Shortlist(names, shown, ""), ", ")
}

// inCommon returns the length of the longest substring that two names share, ignoring case; 0 if it is too short to be
// meaningful.
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

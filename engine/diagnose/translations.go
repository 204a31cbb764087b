// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// translation translates the errors that match its pattern. cel-go distinguishes its errors by their text alone, see
// https://github.com/google/cel-go/blob/v0.31.0/checker/errors.go. Only this table depends on the texts, and
// TestProblemsOfExpressions compares it with the library.
type translation struct {
	pattern   *regexp.Regexp
	translate func(*diagnosis, celError) Finding
}

var translations = []translation{
	{regexp.MustCompile(`^undeclared reference to '(.*)' \(in container`), (*diagnosis).unknownName},
	{regexp.MustCompile(`^found no matching overload for '(.*?)' applied to '(.*)'$`), (*diagnosis).noOverload},
	{regexp.MustCompile(`^invalid duration argument`), (*diagnosis).badDuration},
	{regexp.MustCompile(`^invalid timestamp argument`), (*diagnosis).badTime},
	{regexp.MustCompile(`^invalid matches argument`), (*diagnosis).badRegex},
	{regexp.MustCompile(`^invalid argument to has\(\) macro`), (*diagnosis).badHas},
	{regexp.MustCompile(`^comprehension exceeds nesting limit`), says("too many nested loops: all, exists, map, filter and other loop macros nest at most two levels deep", "")},
	{regexp.MustCompile(`^expression code point size exceeds limit`), says(fmt.Sprintf("the expression is longer than %d characters", syntax.MaxExpressionSize), "")},
	{regexp.MustCompile(`^expression recursion limit exceeded`), says(fmt.Sprintf("nested too deeply: calls, operators and parentheses nest at most %d levels deep", syntax.MaxDepth), "")},
	{regexp.MustCompile(`^expression (node )?count exceeds limit`), says(fmt.Sprintf("too large: at most %d names, values and calls after macros are expanded", syntax.MaxNodes), "")},
	{regexp.MustCompile(`^reserved identifier: (.*)`), (*diagnosis).reserved},
	{regexp.MustCompile(`^expected type '(.*)' but found '(.*)'$`), (*diagnosis).mixedTypes},
	{regexp.MustCompile(`^expression of type '(.*)' cannot be range of a comprehension`), (*diagnosis).noRange},
	{regexp.MustCompile(`^type '(.*)' does not support field selection$`), (*diagnosis).noFields},
	{regexp.MustCompile(`^undefined field '(.*)'`), (*diagnosis).undefinedField},
	{regexp.MustCompile(`^Syntax error: (?s)(.*)`), (*diagnosis).syntax},
}

func says(message, hint string) func(*diagnosis, celError) Finding {
	return func(*diagnosis, celError) Finding { return Finding{Message: message, Hint: hint} }
}

// noFields explains the selection of a field of a value that has no fields.
func (d *diagnosis) noFields(c celError) Finding {
	f := Finding{Message: syntax.TypeName(c.caught[1]) + " has no fields"}
	path := d.fieldOf(c)
	parent, field := path, ""
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, field = path[:i], path[i+1:]
	}
	_, key, isLabel := strings.Cut(path, "object.metadata.labels.")
	_, annotation, isAnnotation := strings.Cut(path, "object.metadata.annotations.")
	key, annotation = d.wholeKey("labels", key), d.wholeKey("annotations", annotation)
	switch {
	case isLabel:
		f.Hint = fmt.Sprintf("put a key with a dot in brackets and quotes: object.metadata.?labels[?'%s'].orValue('')", key)
	case isAnnotation:
		f.Hint = fmt.Sprintf("put a key with a dot in brackets and quotes: object.metadata.?annotations[?'%s'].orValue('')", annotation)
	case isSize(field):
		f.Hint = "write size(" + parent + ")"
	case parent == conditionsPath:
		f.Hint = fmt.Sprintf("write condition(object, '%s')", field)
	case strings.HasPrefix(c.caught[1], "list(") && parent != "":
		f.Hint = fmt.Sprintf("use a loop to test all elements, such as %s.exists(e, e.%s == 'x')", parent, field)
	}
	return f
}

// conditionsPath is the field that holds the conditions of an object.
const conditionsPath = "object.status.conditions"

// wholeKey returns a key of labels or annotations as written. cel-go reports an error at a dot in it, but the rest is a
// part of the key.
func (d *diagnosis) wholeKey(of, begins string) string {
	whole := regexp.MustCompile(`\.` + of + `\.(` + regexp.QuoteMeta(begins) + `[\w./-]*)`).FindStringSubmatch(d.text)
	if whole == nil {
		return begins
	}
	return whole[1]
}

// badTime explains an invalid time such as timestamp('2026-03-01').
func (d *diagnosis) badTime(c celError) Finding {
	f := Finding{Message: "this is not a time in RFC 3339", Hint: "write a complete time, such as timestamp('2026-03-01T12:00:00Z')"}
	if literal := quoted.FindStringSubmatch(d.after(c)); literal != nil && timeIn(literal[1]) != "" {
		f.Hint = fmt.Sprintf("write timestamp('%s')", timeIn(literal[1]))
	}
	return f
}

// timeIn completes a time to RFC 3339 in UTC; it is empty if the text is not a time.
func timeIn(text string) string {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// badRegex explains an invalid regular expression such as matches('*-build').
func (d *diagnosis) badRegex(c celError) Finding {
	f := Finding{Message: "this is not a regular expression", Hint: "the syntax is RE2; double each backslash in a CEL string, or write r'...'"}
	literal := quoted.FindStringSubmatch(d.after(c))
	switch {
	case literal == nil:
	case strings.HasPrefix(literal[1], "*"):
		f.Hint = fmt.Sprintf("in a regular expression .* matches any text: write matches('.%s')", literal[1])
	case lookaround.MatchString(literal[1]):
		f.Hint = fmt.Sprintf("the syntax is RE2, which does not support '%s': write a second condition, such as !object.metadata.name.matches('^keep-')", lookaround.FindString(literal[1]))
	}
	return f
}

// badDuration explains an invalid duration such as duration('7d').
func (d *diagnosis) badDuration(c celError) Finding {
	f := Finding{Message: "this is not a duration in CEL; the units are h, m, s, ms, us and ns", Hint: "for days write days(7)"}
	literal := quoted.FindStringSubmatch(d.after(c))
	if literal == nil {
		return f
	}
	ttl, err := policy.ParseTTL(literal[1])
	if err != nil || ttl < policy.Day {
		return f
	}
	f.Hint = fmt.Sprintf("write days(%d)", ttl/policy.Day)
	if rest := ttl % policy.Day; rest > 0 {
		f.Hint += fmt.Sprintf(" + duration('%s')", policy.FormatTTL(rest))
	}
	f.Hint += "; in a rule you can also write ttl: " + literal[1]
	return f
}

var (
	lookaround = regexp.MustCompile(`\(\?<?[=!]`)

	isNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	hasText  = regexp.MustCompile(`has\(\s*['"](object\.[\w.]+)['"]\s*\)`)
	quoted   = regexp.MustCompile(`^['"]([^'"]*)['"]`)
	hasKey   = regexp.MustCompile(`has\(\s*([^()]*)\[\s*('[^']*'|"[^"]*")\s*\]\s*\)`)
	hasDash  = regexp.MustCompile(`has\(\s*object\.metadata\.(labels|annotations)\.([\w./-]*[/-][\w./-]*)\s*\)`)
	hasOpt   = regexp.MustCompile(`has\(\s*([\w.?]+\.\?\w+)\s*\)`)
	lastStep = regexp.MustCompile(`\.(\w+)$`)
	hasBare  = regexp.MustCompile(`has\(\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\)`)
)

// badHas explains has(x['key']), which CEL does not support.
func (d *diagnosis) badHas(celError) Finding {
	f := Finding{Message: "has() takes a field, such as has(object.status.phase)"}
	if key := hasKey.FindStringSubmatch(d.text); key != nil {
		f.Hint = fmt.Sprintf("for a key write %s[?%s].hasValue()", lastStep.ReplaceAllString(key[1], ".?$1"), key[2])
	} else if key := hasDash.FindStringSubmatch(d.text); key != nil {
		f.Hint = fmt.Sprintf("for a key write object.metadata.?%s[?'%s'].hasValue()", key[1], key[2])
	} else if optional := hasOpt.FindStringSubmatch(d.text); optional != nil {
		f.Hint = fmt.Sprintf("write %s.hasValue()", optional[1])
	} else if text := hasText.FindStringSubmatch(d.text); text != nil {
		f.Hint = fmt.Sprintf("write the field without quotes: has(%s)", text[1])
	} else if hasBare.MatchString(d.text) {
		f.Hint = "object is always present: test one of its fields"
	}
	return f
}

func (d *diagnosis) reserved(c celError) Finding {
	f := Finding{Message: fmt.Sprintf("%q is a reserved word", c.caught[1])}
	switch foreign, found := d.foreignIn(d.code()); {
	case c.caught[1] == "namespace":
		f.Hint = "did you mean object.metadata.namespace?"
	case found:
		return foreign
	}
	return f
}

// fieldOf returns the path of the field that an error is about; empty if the error is not about a field of a
// variable.
func (d *diagnosis) fieldOf(c celError) (path string) {
	if e := d.expression(c); e != nil {
		path = syntax.Path(e)
	}
	return path
}

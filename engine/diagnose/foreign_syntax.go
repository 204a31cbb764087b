// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// foreignNotations are operators and notations of other languages. cel-go's errors about them do not help. A hint may repeat
// groups of the pattern, as in regexp.Expand.
var foreignNotations = []struct {
	pattern       *regexp.Regexp // its first group is the foreign text; in patterns with a field, it starts at the field
	message, hint string
}{
	{regexp.MustCompile(`(?:^|[^.?\w])(now|age)\b`), clockMessage, clockHint},
	{regexp.MustCompile(`(?:^|[^.?\w])(\d{4}-\d\d-\d\dT[\d:.]+Z)`), "times must be enclosed in quotes", "write timestamp('$1')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(?:d|[dD]ays?))\b`), unitMessage, "write days($2)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(?:w|[wW]eeks?))\b`), unitMessage, "write days(7 * $2)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+(?:\.\d+)?)\s*([hs]|ms))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(h)(?:rs?|ours?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(m)(?:ins?|inutes?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(s)(?:ecs?|econds?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)m)\b`), unitMessage, "write duration('${2}m'), or quantity('${2}m') for a quantity"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+(?:\.\d+)?(?:[KMGTPE]i|[kMGTPE]))[bB]?)\b`), unitMessage, "compare quantities with functions, such as quantity(VALUE).isGreaterThan(quantity('$2'))"},
	{regexp.MustCompile("([“”‘’`]([^“”‘’`']*)[“”‘’`])"), quotesMessage, "write '$2'"},
	{regexp.MustCompile("([“”‘’`])"), quotesMessage, "replace it with ' or \""},
	{regexp.MustCompile(`((` + aField + `)\s+(?i:is\s+null))\b`), "'is null' is not an operator", "write !has($2)"},
	{regexp.MustCompile(`((` + aField + `)\s+(?i:is\s+not\s+null))\b`), "'is not null' is not an operator", "write has($2)"},
	{regexp.MustCompile(`[^.?\w]((?i:is\s+(?:not\s+)?null))\b`), "'is null' is not an operator", presenceHint},
	{regexp.MustCompile(`[^.?\w]((?i:is\s+not))\b`), "'is not' is not an operator", "write !="},
	{regexp.MustCompile(`[^.?\w]((?i:is))\b`), "'is' is not an operator", "write =="},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:(?:not\s+)?like))\b`), "'like' is not an operator", "write .contains(), .startsWith() or .endsWith(), such as object.metadata.name.contains('build')"},
	{regexp.MustCompile(`((` + aField + `)\s*(?:!|(?i:not))\s*in\s*(\[[^\]]*\]))`), "'not in' is not an operator", "write !($2 in $3)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:not)\s+in|!\s*in)\b`), "'not in' is not an operator", "write !(VALUE in LIST)"},
	{regexp.MustCompile(`((` + aField + `)\s+(contains|startsWith|endsWith|matches)\s+(_+))`), "'$3' is a function, not an operator", "write $2.$3($4)"},
	{regexp.MustCompile(`((` + aField + `)\.in\s*\(\s*(\[[^\]]*\])\s*\))`), "in is an operator, not a function", "write $2 in $3"},
	{regexp.MustCompile(`(\.\s*in)\s*\(`), "in is an operator, not a function", "write VALUE in LIST"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:not))\b`), "'not' is not an operator", "write !"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:and))\b`), "'and' is not an operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:or))\b`), "'or' is not an operator", "write ||"},
	{regexp.MustCompile(`(?:^|[^.?\w])(if)\b`), "CEL has no 'if'", "write CONDITION ? VALUE : OTHER"},
	{regexp.MustCompile(`(?:^|[^.?\w])(return)\b`), "CEL has no 'return': the value of the expression is the result", "remove it"},
	{regexp.MustCompile(`(?:^|[^.?\w])(for|while|loop)\b`), "CEL has no loop statements", loopHint},
	{regexp.MustCompile(`(?:^|[^.?\w])(var|let|const)\b`), "CEL has no assignments", "declare it in spec.variables, and read it as variables.NAME"},
	{regexp.MustCompile(`(===)`), "'===' is not an operator", "write =="},
	{regexp.MustCompile(`(!==)`), "'!==' is not an operator", "write !="},
	{regexp.MustCompile(`(<>)`), "'<>' is not an operator", "write !="},
	{regexp.MustCompile(`(=~|~=|~)`), "'$1' is not an operator", "use matches() for regular expressions, such as object.metadata.name.matches('^build-')"},
	{regexp.MustCompile(`(=<)`), "'=<' is not an operator", "write <="},
	{regexp.MustCompile(`([-+*/%:]=)`), "CEL has no assignments", "an expression returns one value; to compare values, write =="},
	{regexp.MustCompile(`(=>|->)`), "CEL has no arrow", "to compare values, write >=; " + loopHint},
	{regexp.MustCompile(`(?:^|[^=!<>])(=)(?:[^=~>]|$)`), "'=' is not an operator", "to compare values, write =="},
	{regexp.MustCompile(`(?:^|[^&])(&)(?:[^&]|$)`), "'&' is not an operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^|])(\|)(?:[^|]|$)`), "'|' is not an operator", "write ||"},
	{regexp.MustCompile(`(\?\?)`), "'??' is not an operator", "set a default for a missing field, such as object.spec.?priority.orValue(0)"},
	{regexp.MustCompile(`[\w)\]](\?\.)`), "'?.' is not an operator", "write .? and set a default with orValue(), such as object.status.?phase.orValue('')"},
	{regexp.MustCompile(`\bin\s*(\()\s*[\w.-]+(?:\s*,\s*[\w.-]+)+\s*\)`), "write a list in brackets, not in parentheses", "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']"},
	{regexp.MustCompile(`[\w)\]](\[\s*\*?\s*\])\s*\.`), "an index must be a number", loopHint},
	{regexp.MustCompile(`(\{\{|\{\s*\.|\$)`), "this is not CEL", "write the expression without delimiters; fields begin with object, such as object.status.phase"},
	{regexp.MustCompile(`(;)`), "an expression does not end with ;", "remove it"},
	{regexp.MustCompile(`(#)`), "a comment in CEL begins with //", "write //, or put the comment outside of the expression"},
}

const (
	aField        = `\bobject(?:\.\w+)+` // a field of the object, as a pattern
	syntaxMessage = "syntax error"
	unitMessage   = "numbers in CEL have no units"
	quotesMessage = "strings must be enclosed in ' or \""
	presenceHint  = "to test whether a field is present, use has(), such as has(object.status.phase)"
	loopHint      = "to test all elements, use a function, such as object.status.conditions.exists(c, c.status == 'True')"
)

// syntax explains a text that the parser cannot read. It recognizes notations of other languages. Otherwise it removes
// the parser's list of expected tokens.
func (d *diagnosis) syntax(c celError) Finding {
	code, unclosed := codeOf(d.text)
	if unclosed >= 0 {
		return d.located(unclosed, Finding{Message: syntaxMessage + ": a quote is not closed", Hint: "write the same quote at the end of the string"})
	}
	if f, found := d.badEscape(); found {
		return f
	}
	if f, found := d.foreignIn(code); found {
		return f
	}
	detail, _, _ := strings.Cut(c.caught[1], " expecting ")
	detail = strings.TrimPrefix(strings.ReplaceAll(detail, "'<EOF>'", "the end"), "mismatched input ")
	conditions := strings.Count(code, "?") - strings.Count(code, ".?") - strings.Count(code, "[?")
	switch {
	case strings.HasPrefix(detail, "the end") && conditions > strings.Count(code, ":"):
		return Finding{Message: syntaxMessage + ": the : of CONDITION ? VALUE : OTHER is missing", Hint: "write CONDITION ? VALUE : OTHER"}
	case strings.HasPrefix(detail, "the end"):
		return Finding{Message: syntaxMessage + ": the expression ends too early", Hint: "something is missing after the last operator or parenthesis"}
	case detail == "extraneous input ')'":
		return Finding{Message: syntaxMessage + ": one ) too many", Hint: "remove it"}
	}
	if misplaced := lastQuoted.FindStringSubmatch(detail); misplaced != nil {
		detail = misplaced[1] + " is not expected here"
	}
	return Finding{Message: syntaxMessage + ": " + detail}
}

// lastQuoted matches the token that the parser did not expect.
var lastQuoted = regexp.MustCompile(`^(?:extraneous input |no viable alternative at input |token recognition error at: |)('.*')$`)

// IsSyntaxError reports whether a problem is that an expression does not parse.
func IsSyntaxError(p policy.Problem) bool { return strings.HasPrefix(p.Message, syntaxMessage) }

// foreignIn returns a finding for the first foreign notation in an expression without its strings.
func (d *diagnosis) foreignIn(code string) (f Finding, found bool) {
	at := len(code)
	for _, known := range foreignNotations {
		if match := known.pattern.FindStringSubmatchIndex(code); match != nil && match[2] < at {
			filled := func(template string) string { return string(known.pattern.ExpandString(nil, template, d.text, match)) }
			at, f = match[2], Finding{Message: syntaxMessage + ": " + filled(known.message), Hint: filled(known.hint)}
		}
	}
	return d.located(at, f), f.Message != ""
}

// located returns a finding with the position of an offset in the text, in bytes.
func (d *diagnosis) located(offset int, f Finding) Finding {
	before := d.text[:offset]
	f.Line = strings.Count(before, "\n") + 1
	f.Column = len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	return f
}

// withEscape returns a string literal in which backslashes are literal: a raw string, unless some of them are already
// doubled.
func withEscape(literal string) string {
	if !strings.Contains(literal, `\\`) {
		return "r" + literal
	}
	return anyEscape.ReplaceAllStringFunc(literal, func(escape string) string {
		if unknownEscape.MatchString(escape) {
			return `\` + escape
		}
		return escape
	})
}

var anyEscape = regexp.MustCompile(`\\.`)

// unknownEscape matches a backslash and the next character if CEL does not support this escape sequence.
var unknownEscape = regexp.MustCompile(`^(?:[^\\]|\\[abfnrtvxXuU0-7?"'` + "`" + `\\])*(\\[^abfnrtvxXuU0-7?"'` + "`" + `\\])`)

// badEscape returns a finding for the first string with such an escape sequence.
func (d *diagnosis) badEscape() (f Finding, found bool) {
	for _, at := range literals.FindAllStringIndex(d.text, -1) {
		literal := d.text[at[0]:at[1]]
		if caught := unknownEscape.FindStringSubmatch(literal); caught != nil && strings.ContainsAny(literal[:1], `'"`) {
			return d.located(at[0], Finding{Message: fmt.Sprintf("%s: %s is not an escape sequence", syntaxMessage, caught[1]), Hint: "write " + withEscape(literal)}), true
		}
	}
	return f, false
}

var literals = regexp.MustCompile(`(?s)[rR]?(?:'''.*?'''|""".*?""")|[rR]'[^'\n]*'|[rR]"[^"\n]*"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|//[^\n]*`)

// code returns the expression without its strings and comments.
func (d *diagnosis) code() string {
	code, _ := codeOf(d.text)
	return code
}

// codeOf replaces comments in an expression with blanks, and strings with _. The number of bytes stays the same.
// unclosed is the offset of a string that is not closed; -1 for none.
func codeOf(text string) (code string, unclosed int) {
	code = literals.ReplaceAllStringFunc(text, func(literal string) string {
		if strings.HasPrefix(literal, "//") {
			return strings.Repeat(" ", len(literal))
		}
		return strings.Repeat("_", len(literal))
	})
	return code, strings.IndexAny(code, `'"`)
}

package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// foreign are operators and notations of other languages. cel-go says of each something else, which helps nobody. A hint repeats groups of
// the pattern, as regexp.Expand does.
var foreign = []struct {
	pattern       *regexp.Regexp // its first group is what is foreign; with fields written out, from the field on
	message, hint string
}{
	{regexp.MustCompile(`(?:^|[^.?\w])(now|age)\b`), clockMessage, clockHint},
	{regexp.MustCompile(`(?:^|[^.?\w])(\d{4}-\d\d-\d\dT[\d:.]+Z)`), "a time stands in quotes", "write timestamp('$1')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(?:d|[dD]ays?))\b`), unitMessage, "write days($2)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(?:w|[wW]eeks?))\b`), unitMessage, "write days(7 * $2)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+(?:\.\d+)?)\s*([hs]|ms))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(h)(?:rs?|ours?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(m)(?:ins?|inutes?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)\s*(s)(?:ecs?|econds?))\b`), unitMessage, "write duration('$2$3')"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+)m)\b`), unitMessage, "write duration('${2}m'), or quantity('${2}m') for a quantity"},
	{regexp.MustCompile(`(?:^|[^.?\w])((\d+(?:\.\d+)?(?:[KMGTPE]i|[kMGTPE]))[bB]?)\b`), unitMessage, "functions compare quantities, such as quantity(VALUE).isGreaterThan(quantity('$2'))"},
	{regexp.MustCompile("([“”‘’`]([^“”‘’`']*)[“”‘’`])"), quotesMessage, "write '$2'"},
	{regexp.MustCompile("([“”‘’`])"), quotesMessage, "replace it with ' or \""},
	{regexp.MustCompile(`((` + aField + `)\s+(?i:is\s+null))\b`), "'is null' is no operator", "write !has($2)"},
	{regexp.MustCompile(`((` + aField + `)\s+(?i:is\s+not\s+null))\b`), "'is not null' is no operator", "write has($2)"},
	{regexp.MustCompile(`[^.?\w]((?i:is\s+(?:not\s+)?null))\b`), "'is null' is no operator", presenceHint},
	{regexp.MustCompile(`[^.?\w]((?i:is\s+not))\b`), "'is not' is no operator", "write !="},
	{regexp.MustCompile(`[^.?\w]((?i:is))\b`), "'is' is no operator", "write =="},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:(?:not\s+)?like))\b`), "'like' is no operator", "write .contains(), .startsWith() or .endsWith(), such as object.metadata.name.contains('build')"},
	{regexp.MustCompile(`((` + aField + `)\s*(?:!|(?i:not))\s*in\s*(\[[^\]]*\]))`), "'not in' is no operator", "write !($2 in $3)"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:not)\s+in|!\s*in)\b`), "'not in' is no operator", "write !(VALUE in LIST)"},
	{regexp.MustCompile(`((` + aField + `)\s+(contains|startsWith|endsWith|matches)\s+(_+))`), "'$3' is a function, not an operator", "write $2.$3($4)"},
	{regexp.MustCompile(`((` + aField + `)\.in\s*\(\s*(\[[^\]]*\])\s*\))`), "in is an operator, not a function", "write $2 in $3"},
	{regexp.MustCompile(`(\.\s*in)\s*\(`), "in is an operator, not a function", "write VALUE in LIST"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:not))\b`), "'not' is no operator", "write !"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:and))\b`), "'and' is no operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^.?\w])((?i:or))\b`), "'or' is no operator", "write ||"},
	{regexp.MustCompile(`(?:^|[^.?\w])(if)\b`), "there is no 'if' in CEL", "write CONDITION ? VALUE : OTHER"},
	{regexp.MustCompile(`(?:^|[^.?\w])(return)\b`), "there is no 'return' in CEL: an expression is its value", "leave it out"},
	{regexp.MustCompile(`(?:^|[^.?\w])(for|while|loop)\b`), "there is no loop statement in CEL", loopHint},
	{regexp.MustCompile(`(?:^|[^.?\w])(var|let|const)\b`), "there are no assignments in CEL", "declare it in spec.variables, and read it as variables.NAME"},
	{regexp.MustCompile(`(===)`), "'===' is no operator", "write =="},
	{regexp.MustCompile(`(!==)`), "'!==' is no operator", "write !="},
	{regexp.MustCompile(`(<>)`), "'<>' is no operator", "write !="},
	{regexp.MustCompile(`(=~|~=|~)`), "'$1' is no operator", "matches() compares with a regular expression, such as object.metadata.name.matches('^build-')"},
	{regexp.MustCompile(`(=<)`), "'=<' is no operator", "write <="},
	{regexp.MustCompile(`([-+*/%:]=)`), "there are no assignments in CEL", "an expression gives one value; == compares"},
	{regexp.MustCompile(`(=>|->)`), "there is no arrow in CEL", ">= compares; " + loopHint},
	{regexp.MustCompile(`(?:^|[^=!<>])(=)(?:[^=~>]|$)`), "a single =", "== compares"},
	{regexp.MustCompile(`(?:^|[^&])(&)(?:[^&]|$)`), "'&' is no operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^|])(\|)(?:[^|]|$)`), "'|' is no operator", "write ||"},
	{regexp.MustCompile(`(\?\?)`), "'??' is no operator", "say what counts where the field is missing, such as object.spec.?priority.orValue(0)"},
	{regexp.MustCompile(`[\w)\]](\?\.)`), "'?.' is no operator", "the dot comes first, and orValue() says what counts where the field is missing, such as object.status.?phase.orValue('')"},
	{regexp.MustCompile(`\bin\s*(\()\s*[\w.-]+(?:\s*,\s*[\w.-]+)+\s*\)`), "a list stands in brackets, not in parentheses", "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']"},
	{regexp.MustCompile(`[\w)\]](\[\s*\*?\s*\])\s*\.`), "an index is a number", loopHint},
	{regexp.MustCompile(`(\{\{|\{\s*\.|\$)`), "this is not CEL", "an expression stands alone, and fields begin with object, such as object.status.phase"},
	{regexp.MustCompile(`(;)`), "an expression has no ; at its end", "leave it out"},
	{regexp.MustCompile(`(#)`), "a comment in CEL begins with //", "write //, or put the comment outside of the expression"},
}

const (
	aField        = `\bobject(?:\.\w+)+` // of the object, as a pattern
	syntaxMessage = "cannot be read"
	unitMessage   = "a number has no unit in CEL"
	quotesMessage = "a text stands in ' or \""
	presenceHint  = "has() says whether a field is there, such as has(object.status.phase)"
	loopHint      = "a function asks all elements, such as object.status.conditions.exists(c, c.status == 'True')"
)

// syntax says of a text that the parser cannot read what is written otherwise in CEL, or else cuts the parser's list of everything it
// would have liked better.
func (d *diagnosis) syntax(c complaint) finding {
	code, unclosed := codeOf(d.text)
	if unclosed >= 0 {
		return d.located(unclosed, finding{message: syntaxMessage + ": a quote that does not end", hint: "write the same quote at the end of the text"})
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
		return finding{message: syntaxMessage + ": the : of CONDITION ? VALUE : OTHER is missing", hint: "write CONDITION ? VALUE : OTHER"}
	case strings.HasPrefix(detail, "the end"):
		return finding{message: syntaxMessage + ": it ends too early", hint: "something is missing after the last operator or parenthesis"}
	case detail == "extraneous input ')'":
		return finding{message: syntaxMessage + ": one ) too many", hint: "leave it out"}
	}
	if misplaced := lastQuoted.FindStringSubmatch(detail); misplaced != nil {
		detail = misplaced[1] + " is not expected here"
	}
	return finding{message: syntaxMessage + ": " + detail}
}

// lastQuoted is what the parser did not expect.
var lastQuoted = regexp.MustCompile(`^(?:extraneous input |no viable alternative at input |token recognition error at: |)('.*')$`)

// IsUnreadable reports whether a problem is that an expression does not parse.
func IsUnreadable(p policy.Problem) bool { return strings.HasPrefix(p.Message, syntaxMessage) }

// foreignIn finds the first that is foreign in an expression without its texts.
func (d *diagnosis) foreignIn(code string) (f finding, found bool) {
	at := len(code)
	for _, known := range foreign {
		if match := known.pattern.FindStringSubmatchIndex(code); match != nil && match[2] < at {
			filled := func(template string) string { return string(known.pattern.ExpandString(nil, template, d.text, match)) }
			at, f = match[2], finding{message: syntaxMessage + ": " + filled(known.message), hint: filled(known.hint)}
		}
	}
	return d.located(at, f), f.message != ""
}

// located is a finding about what stands at an offset of the text, in bytes.
func (d *diagnosis) located(offset int, f finding) finding {
	before := d.text[:offset]
	f.line = strings.Count(before, "\n") + 1
	f.column = len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	return f
}

// withEscape is a text whose backslashes are meant: raw, unless some of them are doubled already.
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

// unknownEscape is a backslash, and what follows, that CEL does not know in a text.
var unknownEscape = regexp.MustCompile(`^(?:[^\\]|\\[abfnrtvxXuU0-7?"'` + "`" + `\\])*(\\[^abfnrtvxXuU0-7?"'` + "`" + `\\])`)

// badEscape finds the first text with such a backslash.
func (d *diagnosis) badEscape() (f finding, found bool) {
	for _, at := range literals.FindAllStringIndex(d.text, -1) {
		literal := d.text[at[0]:at[1]]
		if caught := unknownEscape.FindStringSubmatch(literal); caught != nil && strings.ContainsAny(literal[:1], `'"`) {
			return d.located(at[0], finding{message: fmt.Sprintf("%s: %s is no escape sequence in a text", syntaxMessage, caught[1]), hint: "write " + withEscape(literal)}), true
		}
	}
	return f, false
}

var literals = regexp.MustCompile(`(?s)[rR]?(?:'''.*?'''|""".*?""")|[rR]'[^'\n]*'|[rR]"[^"\n]*"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|//[^\n]*`)

// code is the expression without its texts and comments.
func (d *diagnosis) code() string {
	code, _ := codeOf(d.text)
	return code
}

// codeOf is an expression of as many bytes with blanks in place of its comments, and _ in place of its texts. unclosed is where a text begins that does not
// end; -1 for none.
func codeOf(text string) (code string, unclosed int) {
	code = literals.ReplaceAllStringFunc(text, func(literal string) string {
		if strings.HasPrefix(literal, "//") {
			return strings.Repeat(" ", len(literal))
		}
		return strings.Repeat("_", len(literal))
	})
	return code, strings.IndexAny(code, `'"`)
}

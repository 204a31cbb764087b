package engine

import (
	"regexp"
	"strings"
)

// foreign are operators and notations of other languages. cel-go says of each something else, which helps nobody.
var foreign = []struct {
	pattern       *regexp.Regexp // its first group is what is foreign
	message, hint string
}{
	{regexp.MustCompile(`(?:^|[^.\w])(\d+(?:[dwhms]|[KMGTPE]i|[kMGT]))\b`), "a number has no unit in CEL", "functions say what is meant, such as days(1), duration('24h') or quantity('1Gi')"},
	{regexp.MustCompile(`([“”‘’` + "`" + `])`), "a text stands in ' or \"", "write the quotes anew"},
	{regexp.MustCompile(`(?i:[^.\w])((?i:is\s+(?:not\s+)?null))\b`), "'is null' is no operator", "has() says whether a field is there, such as has(object.status.phase)"},
	{regexp.MustCompile(`(?:^|[^.\w])((?i:like))\b`), "'like' is no operator", "write .contains(), .startsWith() or .endsWith(), such as object.metadata.name.contains('build')"},
	{regexp.MustCompile(`(!\s*in)\b`), "'!in' is no operator", "write !(VALUE in LIST)"},
	{regexp.MustCompile(`(?:^|[^.\w])((?i:not\s+in))\b`), "'not in' is no operator", "write !(VALUE in LIST)"},
	{regexp.MustCompile(`(?:^|[^.\w])((?i:not))\b`), "'not' is no operator", "write !"},
	{regexp.MustCompile(`(?:^|[^.\w])((?i:and))\b`), "'and' is no operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^.\w])((?i:or))\b`), "'or' is no operator", "write ||"},
	{regexp.MustCompile(`(?:^|[^.\w])(if)\b`), "there is no 'if' in CEL", "write CONDITION ? VALUE : OTHER"},
	{regexp.MustCompile(`(===)`), "'===' is no operator", "write =="},
	{regexp.MustCompile(`(!==)`), "'!==' is no operator", "write !="},
	{regexp.MustCompile(`(<>)`), "'<>' is no operator", "write !="},
	{regexp.MustCompile(`(=~)`), "'=~' is no operator", "matches() compares with a regular expression, such as object.metadata.name.matches('^build-')"},
	{regexp.MustCompile(`(=<)`), "'=<' is no operator", "write <="},
	{regexp.MustCompile(`([-+*/%:]=)`), "there are no assignments in CEL", "an expression gives one value; == compares"},
	{regexp.MustCompile(`(~=)`), "'~=' is no operator", "matches() compares with a regular expression, such as object.metadata.name.matches('^build-')"},
	{regexp.MustCompile(`(=>|->)`), "there is no arrow in CEL", ">= compares; a loop takes a name and a condition, such as object.status.conditions.exists(c, c.status == 'True')"},
	{regexp.MustCompile(`(?:^|[^=!<>])(=)(?:[^=~>]|$)`), "a single =", "== compares"},
	{regexp.MustCompile(`(?:^|[^&])(&)(?:[^&]|$)`), "'&' is no operator", "write &&"},
	{regexp.MustCompile(`(?:^|[^|])(\|)(?:[^|]|$)`), "'|' is no operator", "write ||"},
	{regexp.MustCompile(`(\?\?)`), "'??' is no operator", "say what counts where the field is missing, such as object.spec.?priority.orValue(0)"},
	{regexp.MustCompile(`[\w)\]](\?\.)`), "'?.' is no operator", "the dot comes first, and orValue() says what counts where the field is missing, such as object.status.?phase.orValue('')"},
	{regexp.MustCompile(`\bin\s*(\()\s*[\w.-]+(?:\s*,\s*[\w.-]+)+\s*\)`), "a list stands in brackets, not in parentheses", "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']"},
	{regexp.MustCompile(`[\w)\]](\[\s*\*?\s*\])\s*\.`), "an index is a number", "a loop asks all elements, such as object.status.conditions.exists(c, c.status == 'True')"},
	{regexp.MustCompile(`(\{\{|\{\s*\.|\$)`), "this is not CEL", "an expression stands alone, and fields begin with object, such as object.status.phase"},
	{regexp.MustCompile(`(;)`), "an expression has no ; at its end", "leave it out"},
	{regexp.MustCompile(`(#)`), "a comment in CEL begins with //", "write //, or put the comment outside of the expression"},
}

// syntax says of a text that the parser cannot read what is written otherwise in CEL, or else cuts the parser's list of everything it
// would have liked better.
func (d *diagnosis) syntax(c complaint) finding {
	code, unclosed := codeOf(d.text)
	if unclosed >= 0 {
		return d.located(unclosed, finding{message: syntaxMessage + ": a quote that does not end", hint: "write the same quote at the end of the text"})
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
	case strings.HasPrefix(detail, "token recognition error") && badEscape.MatchString(d.text):
		return finding{message: syntaxMessage + ": a backslash before a character that needs none", hint: "in a text a backslash is doubled, or write r'...', such as matches(r'^build-\\d+$')"}
	case detail == "extraneous input ')'":
		return finding{message: syntaxMessage + ": one ) too many", hint: "leave it out"}
	}
	return finding{message: syntaxMessage + ": " + detail}
}

// foreignIn finds the first that is foreign in an expression without its texts.
func (d *diagnosis) foreignIn(code string) (f finding, found bool) {
	at := len(code)
	for _, known := range foreign {
		if match := known.pattern.FindStringSubmatchIndex(code); match != nil && match[2] < at {
			at, f = match[2], finding{message: syntaxMessage + ": " + known.message, hint: known.hint}
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

// badEscape is a backslash that CEL does not know in a text.
var badEscape = regexp.MustCompile(`\\[^abfnrtvxXuU0-7?"'` + "`" + `\\]`)

var literals = regexp.MustCompile(`(?s)[rR]?(?:'''.*?'''|""".*?""")|[rR]'[^'\n]*'|[rR]"[^"\n]*"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|//[^\n]*`)

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

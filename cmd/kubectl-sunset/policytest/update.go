// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Update returns a want.yaml that expects the actual results. It keeps everything but verdicts, errors and problems, which it writes
// at the end.
func Update(written []byte, got *Got) []byte {
	var b bytes.Buffer
	b.Write(kept(written))
	section(&b, "verdicts", len(got.Verdicts), func(i int) string { return line(verdictFields(got.Verdicts[i])) })
	section(&b, "errors", len(got.Errors), func(i int) string { return line(failureFields(got.Errors[i])) })
	section(&b, "problems", len(got.Problems), func(i int) string { return strconv.Quote(got.Problems[i]) })
	return b.Bytes()
}

// generated matches what Update writes: a field with the lines of its value, which are indented or in brackets, or begin with a dash.
// It includes comments and empty lines between these lines, but not after them.
var generated = regexp.MustCompile(`(?m)^(verdicts|errors|problems):.*\n(((#.*)?\r?\n)*[-\t \[\]{}].*\n)*`)

func kept(written []byte) []byte {
	if len(written) > 0 && written[len(written)-1] != '\n' {
		written = append(bytes.Clone(written), '\n')
	}
	return generated.ReplaceAll(written, nil)
}

func section(b *bytes.Buffer, name string, entries int, entry func(int) string) {
	if entries == 0 {
		return
	}
	b.WriteString(name + ":\n")
	for i := range entries {
		b.WriteString("- " + entry(i) + "\n")
	}
}

// line returns a YAML mapping on one line, without empty fields.
func line(fields []field) string {
	var parts []string
	for _, f := range fields {
		if f.value != "" {
			parts = append(parts, f.name+": "+scalar(f.value))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// plain matches text that needs no quotes in YAML, except for the words in taken.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)

var taken = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

func scalar(text string) string {
	if plain.MatchString(text) && !slices.Contains(taken, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

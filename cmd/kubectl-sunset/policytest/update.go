// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Update returns a want.yaml that expects the actual results. It keeps the lines before the first of verdicts, errors and
// problems.
func Update(written []byte, got *Got) []byte {
	var b bytes.Buffer
	b.Write(head(written))
	section(&b, "verdicts", len(got.Verdicts), func(i int) string { return line(verdictFields(got.Verdicts[i])) })
	section(&b, "errors", len(got.Errors), func(i int) string { return line(failureFields(got.Errors[i])) })
	section(&b, "problems", len(got.Problems), func(i int) string { return strconv.Quote(got.Problems[i]) })
	return b.Bytes()
}

// generated matches the start of the part that Update writes.
var generated = regexp.MustCompile(`(?m)^(verdicts|errors|problems):`)

func head(written []byte) []byte {
	if at := generated.FindIndex(written); at != nil {
		written = written[:at[0]]
	}
	if len(written) > 0 && written[len(written)-1] != '\n' {
		return append(bytes.Clone(written), '\n')
	}
	return written
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

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// describe returns the description of a field, followed by the limits of its schema as sentences.
func describe(f apiextensionsv1.JSONSchemaProps) string {
	parts := []string{sentence(f.Description)}
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(f.Enum) > 0 {
		var values []string
		for _, v := range f.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		say("One of %s.", strings.Join(values, ", "))
	}
	if f.Pattern != "" {
		say("Must match `%s`.", f.Pattern)
	}
	say("%s", limits("characters", f.MinLength, f.MaxLength))
	say("%s", limits("entries", f.MinItems, f.MaxItems))
	if len(f.XListMapKeys) > 0 {
		say("Each `%s` once.", strings.Join(f.XListMapKeys, "` and `"))
	}
	if f.XListType != nil && *f.XListType == "set" {
		say("Each once.")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

func limits(what string, least, most *int64) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%d to %d %s.", *least, *most, what)
	case least != nil:
		return fmt.Sprintf("At least %d %s.", *least, what)
	case most != nil:
		return fmt.Sprintf("At most %d %s.", *most, what)
	default:
		return ""
	}
}

// sentence returns a text on one line that ends with a full stop.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// cell escapes a text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

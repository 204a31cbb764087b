// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestApply(t *testing.T) {
	for name, test := range map[string]struct {
		document string
		paths    []string
		want     string
		matched  string
	}{
		"a string becomes REDACTED":        {`{"a":{"b":"x","c":"y"}}`, []string{"a.b"}, `{"a":{"b":"REDACTED","c":"y"}}`, "a.b"},
		"other values are removed":         {`{"a":1,"b":{"x":"y"},"c":[1],"d":null,"e":true,"f":2}`, []string{"a", "b", "c", "d", "e"}, `{"f":2}`, "a b c d e"},
		"the first field is removed":       {`{"a":1,"b":2}`, []string{"a"}, `{"b":2}`, "a"},
		"the last field is removed":        {`{"a":1,"b":2}`, []string{"b"}, `{"a":1}`, "b"},
		"elements of lists":                {`{"c":[{"env":[{"name":"n","value":"v"},{"name":"m"}]},{}]}`, []string{"c[*].env[*].value"}, `{"c":[{"env":[{"name":"n","value":"REDACTED"},{"name":"m"}]},{}]}`, "c[*].env[*].value"},
		"one element":                      {`{"c":["a","b"]}`, []string{"c[1]"}, `{"c":["a","REDACTED"]}`, "c[1]"},
		"all fields":                       {`{"data":{"a":"x","b":"y"}}`, []string{"data.*"}, `{"data":{"a":"REDACTED","b":"REDACTED"}}`, "data.*"},
		"a name with dots in brackets":     {`{"a":{"x.io/t":"x"}}`, []string{"a['x.io/t']"}, `{"a":{"x.io/t":"REDACTED"}}`, "a['x.io/t']"},
		"a name in double quotes":          {`{"a":{"x.io/t":"x"}}`, []string{`.a["x.io/t"]`}, `{"a":{"x.io/t":"REDACTED"}}`, `.a["x.io/t"]`},
		"escapes stay":                     {`{"\u0061":"\u003c\/\u00fc","c":"x"}`, []string{"c"}, `{"\u0061":"\u003c\/\u00fc","c":"REDACTED"}`, "c"},
		"a name with escapes is redacted":  {`{"\u0061":"x"}`, []string{"a"}, `{"\u0061":"REDACTED"}`, "a"},
		"a key with escapes":               {`{"a":{"b":"x"}}`, []string{"a.b"}, `{"a":{"b":"REDACTED"}}`, "a.b"},
		"a string with quotes and braces":  {`{"a":"x\"}],","b":"\\"}`, []string{"a"}, `{"a":"REDACTED","b":"\\"}`, "a"},
		"a removed value with brackets":    {`{"a":{"x":"]}","y":[{}]},"b":1}`, []string{"a"}, `{"b":1}`, "a"},
		"a field twice":                    {`{"a":"x","a":"y"}`, []string{"a"}, `{"a":"REDACTED","a":"REDACTED"}`, "a"},
		"a path that matches nothing":      {`{"a":{"b":1}}`, []string{"a.c", "a.b.c", "a[0]"}, `{"a":{"b":1}}`, ""},
		"fields are case-sensitive":        {`{"a":"x"}`, []string{"A"}, `{"a":"x"}`, ""},
		"a field named 0 is not an index":  {`{"a":{"0":"x"}}`, []string{"a[0]"}, `{"a":{"0":"x"}}`, ""},
		"a path inside a removed value":    {`{"a":{"b":"x"}}`, []string{"a", "a.b"}, `{}`, "a"},
		"numbers keep their digits":        {`{"a":1.0e+10,"b":12345678901234567890,"c":"x"}`, []string{"c"}, `{"a":1.0e+10,"b":12345678901234567890,"c":"REDACTED"}`, "c"},
		"characters of HTML stay":          {`{"a":"<&>","c":"x"}`, []string{"c"}, `{"a":"<&>","c":"REDACTED"}`, "c"},
		"white space between tokens":       {"{ \"a\" : [ 1 , 2 ] }\n", nil, `{"a":[1,2]}`, ""},
		"a document that is only a string": {`"a"`, []string{"a"}, `"a"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []redact.Path
			for _, text := range test.paths {
				path, err := redact.Parse(text)
				expect.NoError(t, err)
				paths = append(paths, path)
			}
			got, matched, err := redact.Apply(json.RawMessage(test.document), paths)
			expect.NoError(t, err)
			expect.Equal(t, "document", test.want, string(got))
			expect.Equal(t, "matched", test.matched, strings.Join(matched, " "))
		})
	}
}

func TestApplyRefusesInvalidJSON(t *testing.T) {
	for _, document := range []string{"", "{", `{"a":}`, `{"a":1}x`, `{'a':1}`} {
		if got, _, err := redact.Apply(json.RawMessage(document), nil); err == nil || got != nil {
			t.Errorf("Apply(%q) = %q, %v, want an error and no document", document, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for path, want := range map[string]string{
		"":                         "not supported",
		"$":                        "not supported",
		"{.a}":                     "not supported",
		"spec..value":              "not supported",
		"..value":                  "not supported",
		"spec.":                    "not supported",
		"spec[?(@.a)]":             "not supported",
		"spec[1:2]":                "not supported",
		"spec[-1]":                 "not supported",
		"spec[0":                   "not supported",
		"spec['a]":                 "not supported",
		"spec['']":                 "not supported",
		"spec[0]a":                 "not supported",
		"spec.a*":                  "not supported",
		`spec.a\.b`:                "not supported",
		"metadata.name":            "identify",
		"metadata['uid']":          "identify",
		"metadata.resourceVersion": "identify",
		"metadata":                 "identify",
		"metadata.*":               "identify",
		"*":                        "identify",
		"[*]":                      "identify",
		"*.name":                   "identify",
		"kind":                     "identify",
	} {
		if _, err := redact.Parse(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", path, err, want)
		}
	}
}

// FuzzApply: the result is valid JSON for every document and path, and without a match the document stays.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":{"b":["x",{"c":"\u0022"}]}}`, "a.b[*].c")
	f.Add("{\"a\":\"\\ud800\xff\"}", "b")
	f.Add(`[1,[2,{"a":null}]]`, "[1][1].a")
	f.Fuzz(func(t *testing.T, document, path string) {
		p, err := redact.Parse(path)
		if err != nil {
			return
		}
		got, matched, err := redact.Apply(json.RawMessage(document), []redact.Path{p})
		if valid := json.Valid([]byte(document)); valid != (err == nil) {
			t.Fatalf("valid: %t, error: %v", valid, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q by %q gives %q", document, path, got)
		}
		again, _, err := redact.Apply(got, []redact.Path{p})
		expect.NoError(t, err)
		if len(matched) == 0 && string(again) != string(got) {
			t.Fatalf("%q by %q gives %q, and then %q", document, path, got, again)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// read reads one field. It reports false if the field has the wrong type; it reads all parts that have the right type
// nevertheless.
func (d *Document) read(path string, raw json.RawMessage, into any) bool {
	if raw == nil {
		return true
	}
	strict, err := sigsjson.UnmarshalStrict(raw, into)
	d.addStrict(path, raw, strict)
	if err == nil {
		return true
	}
	problem := Problem{Path: path, Message: err.Error()}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		// Since Go 1.24 the path contains the Go name of an embedded struct, which is not in the file.
		field := strings.TrimPrefix(wrong.Field, "both.")
		problem.Path = joinPath(path, field)
		value := valueAt(decode(raw), field)
		if labels, ok := value.(map[string]any); ok && strings.HasSuffix(field, labelsField) {
			key := firstWithoutText(labels)
			problem.Path, value = problem.Path+"."+key, labels[key]
		}
		if value == nil && wrong.Value == "bool" {
			value = false // an element of a list; the JSON library does not report its index
		}
		problem.Message = fmt.Sprintf("%s given, %s expected", wrong.Value, typeName(wrong.Type))
		if rule, isTTL := strings.CutSuffix(problem.Path, ".ttlExpression"); isTTL {
			d.Meant = append(d.Meant, Meant{By: problem.Path, Path: rule + ".ttl"})
		}
		problem.Hint = typeHint(problem.Path, wrong.Type, value)
	}
	d.Problems = append(d.Problems, problem)
	return false
}

// RepeatedHint says how to fix a field that occurs twice.
const RepeatedHint = "write it once: only the last value would apply"

// addStrict reports the errors of a strict decoder below a path.
func (d *Document) addStrict(path string, raw json.RawMessage, strict []error) {
	var unknown []string
	for _, err := range strict {
		p := Problem{Path: path, Message: err.Error()}
		if field, ok := err.(sigsjson.FieldError); ok {
			p.Path = joinPath(path, field.FieldPath())
			if strings.HasPrefix(p.Message, "unknown field") {
				unknown = append(unknown, p.Path)
				continue
			}
			p.Message, p.Hint = "repeated field", RepeatedHint
		}
		d.Problems = append(d.Problems, p)
	}
	if len(unknown) > 0 {
		value := decode(raw)
		d.addUnknown(unknown, func(below string) any {
			return valueAt(value, strings.TrimPrefix(strings.TrimPrefix(below, path), "."))
		})
	}
}

// decode is the value of JSON; nil if it is not valid.
func decode(raw json.RawMessage) (value any) {
	_ = sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &value) // value stays nil on an error
	return value
}

// valueAt is the value at a path of fields below another value; nil if it is unknown.
func valueAt(value any, path string) any {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// quotesHint does not repeat the value, which can differ from the written text: no is false, and 1.10 is 1.1.
const quotesHint = "write it in quotes: without them YAML reads "

// typeHint says how to write a value of the expected type.
func typeHint(path string, wants reflect.Type, value any) string {
	text, err := json.Marshal(value)
	field := path[strings.LastIndex(path, ".")+1:]
	isText, isExpression := wants.Kind() == reflect.String, slices.Contains(expressionFields, field)
	if slices.Contains([]string{"mode", "events", "propagationPolicy", "operator", "share", "requiredFor"}, field) || strings.HasSuffix(path, ".delete.target") {
		return "" // an enumeration, whose values need no quotes
	}
	if _, is := value.(bool); isText && is && !isExpression {
		return quotesHint + "yes, no, on, off, true and false as booleans"
	}
	switch {
	case err != nil || value == nil:
		return ""
	case field == "ttlExpression" && !strings.ContainsAny(string(text), "[{tf"):
		return fmt.Sprintf("write days(%s)", text)
	case slices.Contains([]string{"ttl", "minTTL", "maxTTL", "minAge", "window"}, field) && wants.Kind() == reflect.String:
		return `a duration is a number and a unit, such as "7d"`
	case slices.Contains(expressionFields, field) && len(textsIn(value)) == 1:
		return "write the expression alone: " + textsIn(value)[0]
	case field == "eligible" && len(textsIn(value)) > 1:
		return fmt.Sprintf("join conditions with &&: %q", strings.Join(textsIn(value), " && "))
	case isText && !isExpression && !strings.ContainsAny(string(text), "[{"):
		return quotesHint + "this as a number"
	case isText && !strings.ContainsAny(string(text), "[{"):
		return fmt.Sprintf("write %q: YAML reads it as %s without quotes", text, jsonType(value))
	case wants.Kind() == reflect.Slice && !strings.HasPrefix(string(text), "{"):
		return fmt.Sprintf("write [%s]: it is a list", text)
	case wants.Kind() == reflect.Slice:
		return "it is a list: each element begins with a dash"
	}
	into := reflect.New(wants).Interface()
	if s, ok := value.(string); ok && json.Unmarshal([]byte(s), into) == nil {
		return fmt.Sprintf("write %s without quotes", s)
	}
	if s, ok := value.(string); ok && json.Unmarshal([]byte(strings.TrimSuffix(s, "%")), into) == nil {
		return "write " + strings.TrimSuffix(s, "%")
	}
	return formHint(field, value)
}

// firstWithoutText is the first key whose value is not a string; the JSON library does not report the key.
func firstWithoutText(labels map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if _, isText := labels[key].(string); !isText {
			return key
		}
	}
	return ""
}

// expressionFields are the fields of rules and variables that contain one expression.
var expressionFields = []string{"eligible", "startTime", "ttlExpression", "groupBy", "outcome", "bytes", "expression"}

// textsIn are the expressions in a list, or in an object with one field such as expression; empty if there is another value in
// it.
func textsIn(value any) (texts []string) {
	elements, _ := value.([]any)
	if object, ok := value.(map[string]any); ok && len(object) == 1 {
		elements = slices.Collect(maps.Values(object))
	}
	for _, element := range elements {
		text, isText := element.(string)
		if !isText {
			return nil
		}
		if len(elements) > 1 && strings.ContainsAny(text, "|?") { // lower precedence than &&
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// form is how to write an object if the user wrote a text or a number instead.
type form struct {
	written string // with %v for the written value, if it can be kept
	example any    // such a value
	values  string // all valid values, separated by spaces; empty if every value of the example's type is valid
}

var forms = map[string]form{
	"target":            {"target: {apiVersion: batch/v1, kind: Job}", nil, ""},
	"images":            {"images: {highThresholdPercent: 80, lowThresholdPercent: 70}", nil, ""},
	"selector":          {"selector: {matchLabels: {%v}}", "app: web", ""},
	"nodeSelector":      {"nodeSelector: {matchLabels: {%v}}", "disk: ssd", ""},
	"namespaceSelector": {"namespaceSelector: {matchLabels: {%v}}", "env: dev", ""},
	"keepNewest":        {"keepNewest: {count: %v}", int64(3), ""},
	"capacity":          {"capacity: {max: %v}", int64(100), ""},
	"limits":            {"limits: {maxDeletions: %v, window: 1h}", int64(100), ""},
	"approval":          {"approval: {requiredFor: %v}", "AllChanges", "AllChanges LargeChanges"},
	"delete":            {"delete: {propagationPolicy: %v}", "Foreground", "Foreground Background Orphan"},
	"overrideBounds":    {"overrideBounds: {allowSuspend: %v}", true, ""},
}

var equality = regexp.MustCompile(`^([\w./-]+)\s*={1,2}\s*([\w.-]+)$`)

// formHint shows the object to write instead of a value.
func formHint(field string, value any) string {
	f, isKnown := forms[field]
	if !isKnown {
		return ""
	}
	text, _ := value.(string)
	if field == "delete" && (text == string(v1alpha1.TargetOwner) || text == string(v1alpha1.TargetObject)) {
		return fmt.Sprintf("write delete: {target: %s}", text)
	}
	if label := equality.FindStringSubmatch(text); label != nil && strings.HasSuffix(field, "elector") {
		return "write " + fmt.Sprintf(f.written, label[1]+": "+quoted(label[2]))
	}
	switch {
	case f.example == nil:
		return "write its fields, such as " + f.written
	case strings.HasSuffix(field, "elector"), reflect.TypeOf(value) != reflect.TypeOf(f.example),
		f.values != "" && !slices.Contains(strings.Fields(f.values), text):
		return "write its fields, such as " + fmt.Sprintf(f.written, f.example)
	}
	return "write " + fmt.Sprintf(f.written, value)
}

func jsonType(value any) string {
	if _, is := value.(bool); is {
		return "a boolean"
	}
	return "a number"
}

// joinPath is the path of a field below another.
func joinPath(path, field string) string {
	if path == "" || field == "" || strings.HasPrefix(field, "[") {
		return path + field
	}
	return path + "." + field
}

// typeName is the name of the type in JSON, like that of the given value.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	default:
		return t.Kind().String()
	}
}

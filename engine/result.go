package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/policy"
)

// result is the field of a rule an expression belongs to, and so what it has to give.
type result int

const (
	anything    result = iota // a variable
	eligibility               // bool
	start                     // timestamp, or text in RFC 3339; optional
	lifetime                  // duration, or text as in ttl; optional
	grouping                  // string
	outcoming                 // string
	naming                    // list of string, or of map with name and namespace; of no rule
)

// field is the name of the rule's field.
func (r result) field() string {
	return [...]string{"expression", "eligible", "startTime", "ttlExpression", "keepNewest.groupBy", "outcome", "names"}[r]
}

// wants says what the expression has to give.
func (r result) wants() string {
	return [...]string{"anything", "bool", "timestamp or optional(timestamp)", "duration or optional(duration)", "string", "string", "list of names, or of maps with name and namespace"}[r]
}

// example is what to write.
func (r result) example() string {
	return [...]string{
		"",
		"write a condition, such as finished(object) or object.status.phase == 'Succeeded'",
		"write a time, such as finishedAt(object) or object.metadata.creationTimestamp",
		"write a span of time, such as days(7) or duration('90m')",
		"write a text that objects of a group share, such as object.metadata.?labels[?'app'].orValue('')",
		"write a text that says how it ended, such as succeeded(object) ? 'Succeeded' : 'Failed'",
		"write a list of names, such as secretsIn(object.spec.template.spec) or object.spec.tls.map(t, t.secretName)",
	}[r]
}

// accepts reports whether an expression of this type may give what is wanted. What is dynamic may.
func (r result) accepts(t *cel.Type) bool {
	if r == start || r == lifetime {
		t = withoutOptional(t)
	}
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		return true
	case types.BoolKind:
		return r == eligibility || r == anything
	case types.TimestampKind:
		return r == start || r == anything
	case types.DurationKind:
		return r == lifetime || r == anything
	case types.StringKind:
		return r != eligibility && r != naming
	case types.ListKind:
		return r == naming || r == anything
	default:
		return r == anything
	}
}

func withoutOptional(t *cel.Type) *cel.Type {
	if t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type" && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

// toBool reads what eligible gave.
func toBool(v ref.Val) (bool, error) {
	if b, ok := v.(types.Bool); ok {
		return bool(b), nil
	}
	return false, unexpected(eligibility, v)
}

// toGroup reads what groupBy gave.
func toGroup(v ref.Val) (string, error) {
	s, ok := v.(types.String)
	if !ok {
		return "", unexpected(grouping, v)
	}
	if len(s) > longestGroup {
		return "", fmt.Errorf("gave a text of %d bytes; what groups have in common has at most %d", len(s), longestGroup)
	}
	return string(s), nil
}

// longestGroup bounds what is kept of each object in memory, in bytes.
const longestGroup = 1024

// longestOutcome bounds the names that are counted by, in characters.
const longestOutcome = 63

// toOutcome reads what outcome gave.
func toOutcome(v ref.Val) (string, error) {
	s, ok := v.(types.String)
	if !ok {
		return "", unexpected(outcoming, v)
	}
	if n := utf8.RuneCountInString(string(s)); n > longestOutcome {
		return "", fmt.Errorf("gave a text of %d characters; what is counted by has at most %d", n, longestOutcome)
	}
	return string(s), nil
}

// toTime reads what startTime gave; none is the zero time.
func toTime(v ref.Val) (time.Time, error) {
	switch x := v.(type) {
	case types.Timestamp:
		return x.UTC(), nil
	case types.String:
		return parseTime(string(x))
	case *types.Optional:
		if !x.HasValue() {
			return time.Time{}, nil
		}
		return toTime(x.GetValue())
	}
	return time.Time{}, unexpected(start, v)
}

// toTTL reads what ttlExpression gave; none is policy.NeverTTL.
func toTTL(v ref.Val) (time.Duration, error) {
	switch x := v.(type) {
	case types.Duration:
		if x.Duration < 0 {
			return 0, fmt.Errorf("gave %s, and a time to live cannot be negative", x.Duration)
		}
		return x.Duration, nil
	case types.String:
		return policy.ParseTTL(string(x))
	case *types.Optional:
		if !x.HasValue() {
			return policy.NeverTTL, nil
		}
		return toTTL(x.GetValue())
	}
	return 0, unexpected(lifetime, v)
}

func unexpected(r result, v ref.Val) error {
	if v == types.NullValue {
		return fmt.Errorf("gave null, wants %s", r.wants())
	}
	return fmt.Errorf("gave %s, wants %s", typeName(v.Type().TypeName()), r.wants())
}

// typeNames are the CEL types that docs/cel.md calls otherwise.
var typeNames = strings.NewReplacer("optional_type", "optional", "google.protobuf.Timestamp", "timestamp",
	"google.protobuf.Duration", "duration", "null_type", "null")

// dynamic is what cel-go calls a value of which only the object says the type, and schemaPath the type of a part of an object.
var (
	dynamic    = regexp.MustCompile(`\bdyn\b`)
	schemaPath = regexp.MustCompile(`\b(?:object|node)(?:/[\w\[\]]+)+`)
)

// typeName is a CEL type, or a text of cel-go that names some, as docs/cel.md writes it.
func typeName(s string) string {
	s = schemaPath.ReplaceAllStringFunc(typeNames.Replace(s), func(path string) string { return strings.ReplaceAll(path, "/", ".") })
	return dynamic.ReplaceAllString(s, "any")
}

// longestError bounds the text of an error, which may quote the object.
const longestError = 256

// shorten makes an error of at most longestError bytes that holds on to nothing of the object.
func shorten(text string) error {
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError-3], "") + "..."
	}
	return errors.New(text)
}

// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// result is the field of a rule that contains an expression. It determines what the expression must return.
type result int

const (
	anything    result = iota // an expression of a variable
	eligibility               // bool
	start                     // timestamp, or string in RFC 3339; optional
	lifetime                  // duration, or string as in ttl; optional
	grouping                  // string
	outcoming                 // string
	sizing                    // int, or string as a quantity; optional
	naming                    // list of string, or of map with name and namespace; not a field of a rule
	selecting                 // LabelSelector, or null to select nothing; not a field of a rule
	labelling                 // map of labels; not a field of a rule
	filtering                 // bool; about a record of an archive, not a field of a rule
)

// field returns the name of the field.
func (r result) field() string {
	return [...]string{"expression", "eligible", "startTime", "ttlExpression", "keepNewest.groupBy", "outcome", "bytes", "names", "selector", "labels", "filter"}[r]
}

// wants returns what the expression must return.
func (r result) wants() string {
	return [...]string{
		"anything", "bool", "timestamp or optional(timestamp)", "duration or optional(duration)", "string", "string",
		"int, string or optional",
		"list of names, or of maps with name and namespace", "map with matchLabels, matchExpressions or both, or null", "map of labels", "bool",
	}[r]
}

// example returns a hint with an example.
func (r result) example() string {
	return [...]string{
		"",
		"write a condition, such as finished(object) or object.status.phase == 'Succeeded'",
		"write a time, such as finishedAt(object) or object.metadata.creationTimestamp",
		"write a duration, such as days(7) or duration('90m')",
		"write a string that is equal for all objects of a group, such as object.metadata.?labels[?'app'].orValue('')",
		"write a string that describes how the object ended, such as succeeded(object) ? 'Succeeded' : 'Failed'",
		"write a number of bytes, or a quantity such as object.spec.resources.requests.storage",
		"write a list of names, such as secretsIn(object.spec.template.spec) or object.spec.tls.map(t, t.secretName)",
		"write a label selector, such as object.spec.selector or {'matchLabels': object.spec.selector}",
		"write a map of labels, such as object.metadata.labels",
		"write a condition, such as record.outcome == 'Failed' or object.spec.parallelism > 1",
	}[r]
}

// accepts reports whether an expression of this type may return a valid result. A dynamic type may.
func (r result) accepts(t *cel.Type) bool {
	if r == start || r == lifetime || r == sizing {
		t = withoutOptional(t)
	}
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		return true
	case types.BoolKind:
		return r == eligibility || r == filtering || r == anything
	case types.TimestampKind:
		return r == start || r == anything
	case types.DurationKind:
		return r == lifetime || r == anything
	case types.StringKind:
		return r != eligibility && r < naming
	case types.IntKind, types.UintKind:
		return r == sizing || r == anything
	case types.ListKind:
		return r == naming || r == anything
	case types.MapKind:
		return r == selecting || r == labelling || r == anything
	case types.NullTypeKind:
		return r == selecting || r == anything
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

// toBool converts the result of eligible.
func toBool(v ref.Val) (bool, error) {
	if b, ok := v.(types.Bool); ok {
		return bool(b), nil
	}
	return false, unexpected(eligibility, v)
}

// toGroup converts the result of groupBy.
func toGroup(v ref.Val) (string, error) {
	s, ok := v.(types.String)
	if !ok {
		return "", unexpected(grouping, v)
	}
	if len(s) > longestGroup {
		return "", fmt.Errorf("returned a string of %d bytes; the limit is %d", len(s), longestGroup)
	}
	return string(s), nil
}

// longestGroup limits what Sunset keeps in memory for each object, in bytes.
const longestGroup = 1024

// longestOutcome limits the names of outcomes, by which deletions are counted, in characters.
const longestOutcome = 63

// toOutcome converts the result of outcome.
func toOutcome(v ref.Val) (string, error) {
	s, ok := v.(types.String)
	if !ok {
		return "", unexpected(outcoming, v)
	}
	if n := utf8.RuneCountInString(string(s)); n > longestOutcome {
		return "", fmt.Errorf("returned a string of %d characters; the limit is %d", n, longestOutcome)
	}
	return string(s), nil
}

// Limits of the texts of quantities, and of their exponents with the letter e: others take long to calculate with.
const longestQuantity, longestExponent = 32, 4

// toBytes converts the result of bytes; none is 0. A number that is too large becomes the largest one.
func toBytes(v ref.Val) (int64, error) {
	switch x := v.(type) {
	case types.Int:
		if x < 0 {
			return 0, fmt.Errorf("returned %d, but a size cannot be negative", x)
		}
		return int64(x), nil
	case types.Uint:
		return int64(min(x, math.MaxInt64)), nil
	case types.String:
		return parseBytes(string(x))
	case *types.Optional:
		if !x.HasValue() {
			return 0, nil
		}
		return toBytes(x.GetValue())
	}
	return 0, unexpected(sizing, v)
}

func parseBytes(text string) (int64, error) {
	q, err := resource.Quantity{}, errors.New("too long")
	if e := strings.LastIndexAny(text, "eE"); len(text) <= longestQuantity && (e < 0 || len(text)-e <= longestExponent) {
		q, err = resource.ParseQuantity(text)
	}
	switch {
	case err != nil || q.Sign() < 0:
		return 0, fmt.Errorf("%q is not a size; write a number of bytes or a quantity such as 10Gi", text)
	case q.CmpInt64(math.MaxInt64) >= 0:
		return math.MaxInt64, nil
	default:
		return q.Value(), nil // rounded up
	}
}

// toTime converts the result of startTime; none is the zero time.
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

// toTTL converts the result of ttlExpression; none is policy.NeverTTL.
func toTTL(v ref.Val) (time.Duration, error) {
	switch x := v.(type) {
	case types.Duration:
		if x.Duration < 0 {
			return 0, fmt.Errorf("returned %s, but a time to live cannot be negative", x.Duration)
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
		return fmt.Errorf("returned null, must return %s", r.wants())
	}
	return fmt.Errorf("returned %s, must return %s", syntax.TypeName(v.Type().TypeName()), r.wants())
}

// longestError limits the text of an error, which may quote the object.
const longestError = 256

// shorten returns an error of at most longestError bytes that does not keep the object in memory.
func shorten(text string) error {
	return errors.New(policy.Shorten(text, longestError))
}

func wrongResult(checked *cel.Ast, wants result) []diagnose.Finding {
	t, hint := checked.OutputType(), wants.example()
	text, isText := syntax.StringLiteral(checked.NativeRep().Expr())
	switch {
	case wants == lifetime && t.Kind() == cel.IntKind:
		hint = "days(7) is seven days, duration('90s') ninety seconds"
	case isText && strings.ContainsAny(text, "(."):
		hint = "write the expression without quotes: " + text
	case wants == eligibility && t.TypeName() == "optional_type" && !wants.accepts(t.Parameters()[0]):
		hint = "to test whether there is a value, add .hasValue()"
	case wants == eligibility && t.TypeName() == "optional_type":
		hint = "set a default for a missing value: add .orValue(false)"
	}
	return diagnose.Whole(fmt.Sprintf("returns %s, but %s must return %s", syntax.TypeName(cel.FormatCELType(t)), wants.field(), wants.wants()), hint)
}

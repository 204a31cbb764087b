package load

import (
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v2"
)

// decodeYAML returns the same as sigs.k8s.io/yaml and JSON decoding. It skips the intermediate text, which takes about half of
// the time. A test compares the two.
func decodeYAML(text []byte) (any, error) {
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return toJSON(value)
}

// toJSON converts a YAML value to the types that JSON decoding returns.
func toJSON(value any) (any, error) {
	switch v := value.(type) {
	case map[any]any:
		return mapping(v)
	case []any:
		for i := range v {
			element, err := toJSON(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = element
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case float64:
		return number(v)
	case nil, string, bool, int64:
		return v, nil
	default:
		return nil, fmt.Errorf("%v cannot be converted to JSON", v)
	}
}

func mapping(m map[any]any) (any, error) {
	object := make(map[string]any, len(m))
	for k, v := range m {
		key, err := keyOf(k)
		if err != nil {
			return nil, err
		}
		if object[key], err = toJSON(v); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func keyOf(key any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case int:
		return strconv.Itoa(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 32), nil
	default:
		return "", fmt.Errorf("%v cannot be a key: JSON keys are strings", key)
	}
}

// wholeBelow is where JSON encoding starts to write floating point numbers with an exponent.
const wholeBelow = 1e21

// number converts a floating point number as JSON does: 1.0 and 1e3 become integers.
func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a number in JSON", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < wholeBelow {
		if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
			return i, nil
		}
	}
	return f, nil
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// FileVersion is the apiVersion of configuration files.
const FileVersion = "config.sunset-k8s.io/v1alpha1"

// read takes settings from a file, except for those that flags have set.
func (f *Flags) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", configFlag, err)
	}
	settings, err := mapping(text)
	if err != nil {
		return at(path, err)
	}
	given := map[string]*yaml.Node{}
	for i := 0; i+1 < len(settings.Content); i += 2 {
		key, value := settings.Content[i], settings.Content[i+1]
		if given[key.Value] != nil {
			return at(path, fault(key, "%s is set twice", key.Value))
		}
		given[key.Value] = value
		if err := f.take(key, value); err != nil {
			return at(path, err)
		}
	}
	if given["apiVersion"] == nil || given["kind"] == nil {
		return at(path, fault(settings, "apiVersion or kind is missing: a file for %s needs apiVersion: %s and kind: %s", f.program, FileVersion, f.kind))
	}
	return nil
}

// take applies one entry of a file.
func (f *Flags) take(key, value *yaml.Node) error {
	if want, isHeader := map[string]string{"apiVersion": FileVersion, "kind": f.kind}[key.Value]; isHeader {
		if value.Value != want {
			return fault(value, "%s: want %s, not %q", key.Value, want, value.Value)
		}
		return nil
	}
	setting := f.setting(key.Value)
	if setting == nil {
		hint := "use the name of a flag of " + f.program + " in camelCase"
		if f.setting(SettingName(key.Value)) != nil {
			hint = "did you mean " + SettingName(key.Value) + "?"
		}
		return fault(key, "unknown setting %q: %s", key.Value, hint)
	}
	texts, err := asFlag(setting, value)
	if err != nil || setting.Changed {
		return err
	}
	f.lines[setting.Name] = key.Line
	if list, ok := setting.Value.(pflag.SliceValue); ok {
		return list.Replace(texts)
	}
	if err := setting.Value.Set(texts[0]); err != nil {
		return fault(value, "%s: %w", key.Value, err)
	}
	return nil
}

// setting returns the flag of a setting; nil if there is none.
func (f *Flags) setting(name string) (found *pflag.Flag) {
	f.VisitAll(func(flag *pflag.Flag) {
		if SettingName(flag.Name) == name && !slices.Contains([]string{configFlag, versionFlag, "help"}, flag.Name) {
			found = flag
		}
	})
	return found
}

// SettingName returns the name of a flag in a file, in camelCase.
func SettingName(flag string) string {
	words := strings.Split(flag, "-")
	for i, word := range words[1:] {
		if word != "" {
			words[1+i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// form describes how to write a setting in YAML.
type form struct {
	name string
	tags []string
}

// forms is indexed by the type of the flag. Flags of other types are strings.
var forms = map[string]form{
	"bool":     {"true or false", []string{"!!bool"}},
	"int":      {"a whole number", []string{"!!int"}},
	"float64":  {"a number", []string{"!!int", "!!float"}},
	"duration": {"a duration such as 15s", []string{"!!str"}},
}

var stringForm = form{`a string (use quotes if YAML reads it as another type)`, []string{"!!str"}}

// asFlag returns the value of a setting in the syntax of its flag. For a list, it returns one text for each item.
func asFlag(setting *pflag.Flag, value *yaml.Node) ([]string, error) {
	if _, isList := setting.Value.(pflag.SliceValue); isList {
		return asList(setting, value)
	}
	if setting.Value.Type() == gatesType {
		return asGates(setting, value)
	}
	wanted, ok := forms[setting.Value.Type()]
	if !ok {
		wanted = stringForm
	}
	if value.Kind != yaml.ScalarNode || !slices.Contains(wanted.tags, value.Tag) {
		return nil, fault(value, "%s: want %s, not %s", SettingName(setting.Name), wanted.name, show(value))
	}
	return []string{value.Value}, nil
}

func asList(setting *pflag.Flag, value *yaml.Node) ([]string, error) {
	if value.Kind != yaml.SequenceNode {
		return nil, fault(value, "%s: want a list of strings, not %s", SettingName(setting.Name), show(value))
	}
	texts := []string{}
	for _, item := range value.Content {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
			return nil, fault(item, "%s: want a list of strings, not a list with %s", SettingName(setting.Name), show(item))
		}
		texts = append(texts, item.Value)
	}
	return texts, nil
}

// gatesType is the pflag type of a flag such as References=false,NodeImages=true.
const gatesType = "mapStringBool"

func asGates(setting *pflag.Flag, value *yaml.Node) ([]string, error) {
	if value.Kind != yaml.MappingNode {
		return nil, fault(value, "%s: want feature names with true or false, such as {References: false}, not %s", SettingName(setting.Name), show(value))
	}
	var pairs []string
	for i := 0; i+1 < len(value.Content); i += 2 {
		name, on := value.Content[i], value.Content[i+1]
		if on.Tag != "!!bool" {
			return nil, fault(on, "%s: %s: want true or false, not %s", SettingName(setting.Name), name.Value, show(on))
		}
		pairs = append(pairs, name.Value+"="+on.Value)
	}
	return []string{strings.Join(pairs, ",")}, nil
}

// show describes a value of the wrong type.
func show(value *yaml.Node) string {
	switch {
	case value.Kind == yaml.SequenceNode:
		return "a list"
	case value.Kind == yaml.MappingNode:
		return "a mapping"
	case value.Kind == yaml.AliasNode:
		return "an alias"
	case value.Tag == "!!null":
		return "null"
	default:
		return value.Value
	}
}

// mapping returns the only document of a file, which must be a mapping.
func mapping(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, next yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, &faulty{1, errors.New("the file is empty")}
	} else if err != nil {
		return nil, syntax(err)
	}
	settings := document.Content[0]
	if settings.Kind != yaml.MappingNode {
		return nil, fault(settings, "want settings, such as maxInFlight: 16, not %s", show(settings))
	}
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
		return settings, nil
	case err != nil:
		return nil, syntax(err)
	default:
		return nil, fault(next.Content[0], "want one YAML document per file")
	}
}

// faulty is an error in one line of a file.
type faulty struct {
	line int
	error
}

// Unwrap returns the error without the line.
func (f *faulty) Unwrap() error { return f.error }

func fault(in *yaml.Node, format string, args ...any) error {
	return &faulty{in.Line, fmt.Errorf(format, args...)}
}

var yamlError = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// syntax converts an error of the parser, which has the line only in its text. That line may be the one before the mistake.
func syntax(err error) error {
	match := yamlError.FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	line := 0
	_, _ = fmt.Sscan(match[1], &line) // they are digits
	return &faulty{line, errors.New(match[2])}
}

// at adds the path of the file, and the line if it is known.
func at(path string, err error) error {
	if f := (&faulty{}); errors.As(err, &f) {
		return fmt.Errorf("%s:%d: %w", path, f.line, f.error)
	}
	return fmt.Errorf("%s: %w", path, err)
}

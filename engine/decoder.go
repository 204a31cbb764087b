// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Decoder decodes those fields of an object's JSON that a set of rules and SubjectOf read. It skips all other fields
// without full validation. It never reads managedFields or kubectl's copy of the object. Use a Decoder from one
// goroutine at a time.
type Decoder struct {
	reads *reads
	text  bytes.Buffer
	json  *jsontext.Decoder
}

// reads says which parts of one JSON value to decode.
type reads struct {
	whole bool              // everything except skip
	every *reads            // for each element of a list, and each field that is not in named; nil for nothing
	named map[string]*reads // for these fields
	skip  map[string]bool   // never decode these fields
	name  string            // of the field, so that decoding does not allocate it again
}

// identity are the fields that SubjectOf reads, and those that distinguish a subject from other responses of a server.
var identity = []string{
	"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
	"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.finalizers.*",
}

var readAnnotations = []string{v1alpha1.HoldAnnotation, v1alpha1.TTLAnnotation, v1alpha1.MirrorPodAnnotation}

// NewDecoder returns a Decoder for the fields that the rules read.
func NewDecoder(rules ...*Program) *Decoder {
	all := &fields{}
	for _, path := range identity {
		all.path(path)
	}
	for _, name := range readAnnotations {
		all.path("metadata.annotations").at(name)
	}
	for i := range signs {
		all.path("metadata").at(signs[i].in).at(signs[i].key)
	}
	for _, r := range rules {
		all.add(r.fields)
		if target := r.source.rule.Target; policy.IsConfigMapOrSecret(target.APIVersion, target.Kind) {
			all.add(builtInReads)
		}
	}
	return decoderOf(all)
}

// NewReferrerDecoder returns a Decoder for the fields that the extractors read, and for the identity of the object: its
// namespace, name, uid and resourceVersion.
func NewReferrerDecoder(extractors ...*Extractor) *Decoder {
	all := &fields{}
	for _, name := range []string{"namespace", "name", "uid", "resourceVersion"} {
		all.path("metadata").at(name)
	}
	for _, x := range extractors {
		all.add(x.program.fields)
	}
	return decoderOf(all)
}

func decoderOf(all *fields) *Decoder {
	all.path("metadata.annotations") // so that they have what is read of every field of metadata, too
	p := readsOf(all, "")
	metadata := p.into("metadata")
	metadata.skip = map[string]bool{"managedFields": true}
	metadata.into("annotations").skip = map[string]bool{appliedAnnotation: true}
	return &Decoder{reads: p}
}

func readsOf(f *fields, name string) *reads {
	p := &reads{whole: f.whole, name: name, named: map[string]*reads{}}
	if p.whole {
		return p
	}
	every := f.below[anyField]
	if every != nil {
		p.every = readsOf(every, "")
	}
	for name, below := range f.below {
		if name == anyField {
			continue
		}
		both := &fields{}
		both.add(below)
		if every != nil {
			both.add(every)
		}
		p.named[name] = readsOf(both, name)
	}
	return p
}

// into returns what to decode of a named field. It adds an entry if the field is only decoded as part of the whole.
func (p *reads) into(name string) *reads {
	below := p.named[name]
	if below == nil {
		below = &reads{name: name, named: map[string]*reads{}}
		p.named[name] = below
	}
	below.whole = below.whole || p.whole
	return below
}

// of returns what to decode of a field; nil to skip it.
func (p *reads) of(name []byte) *reads {
	if p.skip[string(name)] {
		return nil
	}
	if below := p.named[string(name)]; below != nil {
		return below
	}
	switch {
	case p.whole:
		return everything
	default:
		return p.every
	}
}

var everything = &reads{whole: true}

var errNoObject = errors.New("not a JSON object")

// Decode decodes one object. The result is the same as decoding the whole object and then removing the fields that no
// rule reads: integers are int64, other numbers float64.
func (d *Decoder) Decode(data []byte) (map[string]any, error) {
	// The Buffer reads the bytes without a copy. It does not outlive the call.
	d.text = *bytes.NewBuffer(data)
	if d.json == nil {
		d.json = jsontext.NewDecoder(&d.text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	} else {
		d.json.Reset(&d.text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	}
	if d.json.PeekKind() != '{' {
		return nil, errNoObject
	}
	object, err := d.object(d.reads)
	if err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return object, nil
}

func (d *Decoder) value(p *reads) (any, error) {
	switch d.json.PeekKind() {
	case '{':
		return d.object(p)
	case '[':
		return d.list(p)
	}
	token, err := d.json.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

// number converts a JSON number as Kubernetes does.
func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	return strconv.ParseFloat(text, 64)
}

func (d *Decoder) object(p *reads) (map[string]any, error) {
	if _, err := d.json.ReadToken(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for d.json.PeekKind() != '}' {
		name, below, err := d.field(p)
		if err != nil {
			return nil, err
		}
		if below == nil {
			if err := d.json.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if object[name], err = d.value(below); err != nil {
			return nil, err
		}
	}
	_, err := d.json.ReadToken()
	return object, err
}

// field reads the name of a field and returns what to decode of it; the name is empty for a field that is skipped.
func (d *Decoder) field(p *reads) (string, *reads, error) {
	quoted, err := d.json.ReadValue()
	if err != nil {
		return "", nil, err
	}
	name := []byte(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
		// The only possible error is invalid UTF-8, which AppendUnquote replaces as encoding/json does.
		name, _ = jsontext.AppendUnquote(nil, quoted)
	}
	below := p.of(name)
	switch {
	case below == nil:
		return "", nil, nil
	case below.name != "":
		return below.name, below, nil
	default:
		return string(name), below, nil
	}
}

func (d *Decoder) list(p *reads) ([]any, error) {
	if _, err := d.json.ReadToken(); err != nil {
		return nil, err
	}
	below := p.every
	switch {
	case p.whole:
		below = everything
	case below == nil:
		below = nothing
	}
	list := []any{}
	for d.json.PeekKind() != ']' {
		element, err := d.value(below)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := d.json.ReadToken()
	return list, err
}

var nothing = &reads{}

package objects

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// observation is what is left of a decoded object: its row, or for a bookmark only where the watch stands.
type observation struct {
	metav1.Object // nil; only the methods below are called
	row           *index.Row
	bookmark      *metav1.ObjectMeta
}

func (o *observation) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject gives the observation itself: it never changes.
func (o *observation) DeepCopyObject() runtime.Object { return o }

func (o *observation) GetNamespace() string {
	if o.row == nil {
		return ""
	}
	return o.row.Namespace
}

func (o *observation) GetName() string {
	if o.row == nil {
		return ""
	}
	return o.row.Name
}

func (o *observation) GetResourceVersion() string {
	if o.bookmark != nil {
		return o.bookmark.ResourceVersion
	}
	return o.row.ResourceVersion
}

func (o *observation) GetAnnotations() map[string]string {
	if o.bookmark == nil {
		return nil
	}
	return o.bookmark.Annotations
}

// decoder turns the JSON of an object into facts. It is a runtime.Decoder, so that a watch does it event by event.
type decoder struct {
	kind  schema.GroupVersionKind
	rules []*engine.Rule

	mu        sync.Mutex // an ending watch and the next listing may overlap
	evaluator *engine.Evaluator
	json      *engine.Decoder
}

func newDecoder(kind schema.GroupVersionKind, rules []*engine.Rule, e *engine.Evaluator) *decoder {
	return &decoder{kind: kind, rules: rules, evaluator: e, json: engine.NewDecoder(rules...)}
}

// Decode implements runtime.Decoder.
func (d *decoder) Decode(data []byte, _ *schema.GroupVersionKind, _ runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	object, err := d.json.Decode(data)
	if err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	meta, _ := object["metadata"].(map[string]any)
	switch {
	case object["kind"] == "Status" && object["apiVersion"] == "v1":
		status := &metav1.Status{}
		return status, nil, json.Unmarshal(data, status)
	case text(meta, "uid") == "":
		bookmark, err := bookmarkOf(data)
		return bookmark, nil, err
	}
	o, err := d.observe(object, meta)
	return o, nil, err
}

func (d *decoder) observe(object, meta map[string]any) (*observation, error) {
	// A metadata-only answer calls itself PartialObjectMetadata; the rules know the object by its kind.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	if engine.IsMirror(object) {
		return &observation{bookmark: &metav1.ObjectMeta{ResourceVersion: text(meta, "resourceVersion")}}, nil
	}
	subject, err := engine.SubjectOf(object)
	if err != nil {
		return nil, err
	}
	row := &index.Row{Subject: subject, Facts: make([]policy.Facts, len(d.rules))}
	for i, rule := range d.rules {
		row.Facts[i] = d.evaluator.Facts(rule, object)
	}
	return &observation{row: row}, nil
}

// bookmarkOf reads what a watch needs of an event without an object.
func bookmarkOf(data []byte) (*observation, error) {
	o := &metav1.PartialObjectMetadata{}
	err := json.Unmarshal(data, o)
	return &observation{bookmark: &o.ObjectMeta}, err
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// page is one page of a list, its items raw.
type page struct {
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// observations is a page whose items are observed. It implements runtime.Object and meta.List's expectations.
type observations struct {
	metav1.ListMeta
	Items []runtime.Object
}

func (o *observations) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject gives the list itself: it never changes.
func (o *observations) DeepCopyObject() runtime.Object { return o }

func (d *decoder) decodePage(data []byte) (*observations, error) {
	var p page
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode list of %s: %w", d.kind.Kind, err)
	}
	list := &observations{ListMeta: p.Metadata, Items: make([]runtime.Object, 0, len(p.Items))}
	for _, raw := range p.Items {
		o, _, err := d.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, o)
	}
	return list, nil
}

// negotiator makes a REST client's watch decode with a decoder. Nothing is ever encoded with it.
type negotiator struct{ decoder *decoder }

func (n negotiator) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := serializer.NewCodecFactory(watchScheme).SupportedMediaTypes()
	info, _ := runtime.SerializerInfoForMediaType(infos, runtime.ContentTypeJSON)
	info.Serializer = struct {
		runtime.Decoder
		noEncoder
	}{Decoder: n.decoder}
	return []runtime.SerializerInfo{info}
}

func (n negotiator) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

func (n negotiator) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}

// watchScheme knows metav1.WatchEvent, the envelope of every event.
var watchScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}()

type noEncoder struct{}

func (noEncoder) Encode(runtime.Object, io.Writer) error {
	return fmt.Errorf("observations are never encoded")
}
func (noEncoder) Identifier() runtime.Identifier { return "observation" }

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const decodedJob = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7",
"creationTimestamp":"2026-03-01T12:00:00Z","labels":{"app":"x","te\u0061m":"y"},"managedFields":[{"manager":"m","fieldsV1":{"f:x":{}}}],
"annotations":{"sunset-k8s.io/hold":"true","kubectl.kubernetes.io/last-applied-configuration":"{}","other":"z"},
"finalizers":["f1","f2"],"generation":3},"spec":{"suspend":false,"backoffLimit":6,"ratio":0.5,"big":12345678901234567890,"none":null},
"status":{"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-03-01T12:10:00Z","message":"m"}],"succeeded":1}}`

func ruleOf(t testing.TB, eligible, start string) *engine.Program {
	t.Helper()
	c := fixture.Compiler(t)
	r, problems := c.Rule(v1alpha1.Rule{Name: "r", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"},
		Eligible: eligible, StartTime: start, TTL: "1h"}, nil, "rule")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return r
}

func TestDecoderReadsWhatRulesRead(t *testing.T) {
	identity := map[string]any{
		"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "7", "creationTimestamp": "2026-03-01T12:00:00Z",
		"annotations": map[string]any{"sunset-k8s.io/hold": "true"}, "finalizers": []any{"f1", "f2"},
		"labels": map[string]any{},
	}
	with := func(key string, value any) map[string]any {
		m := map[string]any{key: value}
		for k, v := range identity {
			if _, set := m[k]; !set {
				m[k] = v
			}
		}
		return m
	}
	object := func(metadata map[string]any, more map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	for name, test := range map[string]struct {
		eligible string
		want     map[string]any
	}{
		"only the identity":       {"true", object(identity, nil)},
		"a scalar":                {"object.spec.backoffLimit > 3", object(identity, map[string]any{"spec": map[string]any{"backoffLimit": int64(6)}})},
		"a float":                 {"object.spec.ratio > 0.1", object(identity, map[string]any{"spec": map[string]any{"ratio": 0.5}})},
		"beyond int64":            {"object.spec.big > 0.1", object(identity, map[string]any{"spec": map[string]any{"big": 12345678901234567890.0}})},
		"null":                    {"object.spec.none == null", object(identity, map[string]any{"spec": map[string]any{"none": nil}})},
		"some of each element":    {"object.status.conditions.exists(c, c.type == 'Complete')", object(identity, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete"}}}})},
		"the length of a list":    {"object.status.conditions.size() > 0", object(identity, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": "2026-03-01T12:10:00Z", "message": "m"}}}})},
		"an escaped name":         {"object.metadata.labels.team == 'y'", object(with("labels", map[string]any{"team": "y"}), nil)},
		"all annotations but one": {"object.metadata.annotations.size() == 2", object(with("annotations", map[string]any{"sunset-k8s.io/hold": "true", "other": "z"}), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := engine.NewDecoder(ruleOf(t, test.eligible, "object.metadata.creationTimestamp")).Decode([]byte(decodedJob))
			expect.NoError(t, err)
			expect.Equal(t, "decoded object", test.want, got)
		})
	}
}

func TestDecoderOfTheWholeLeavesOutBallast(t *testing.T) {
	var want map[string]any
	expect.NoError(t, sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(decodedJob), &want))
	metadata := want["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	delete(metadata["annotations"].(map[string]any), "kubectl.kubernetes.io/last-applied-configuration")
	got, err := engine.NewDecoder(ruleOf(t, "object == object", "object.metadata.creationTimestamp")).Decode([]byte(decodedJob))
	expect.NoError(t, err)
	expect.Equal(t, "decoded object", want, got)
}

func TestDecoderRefusesWhatIsNoObject(t *testing.T) {
	d := engine.NewDecoder()
	for _, text := range []string{"", "[]", "null", `"x"`, "{", `{"metadata":{"name":"a"`, `{"metadata":}`, `{"a":tru}`} {
		if _, err := d.Decode([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if _, err := d.Decode([]byte(decodedJob)); err != nil {
		t.Errorf("after failures: %v", err)
	}
}

// FuzzDecoder compares the facts and the subject with those after decoding the whole object.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(decodedJob))
	f.Add([]byte(`{"metadata":{"name":"a","finalizers":[1,{"x":[[]]}],"annotations":{"\u0073unset-k8s.io/hold":null}},"status":{"conditions":{"type":1}}}`))
	f.Add([]byte(`{"metadata":{"name":"a","deletionTimestamp":""},"kind":"Pod","apiVersion":"v1","status":[]}`))
	rules := []*engine.Program{
		ruleOf(f, "finished(object)", "finishedAt(object)"),
		ruleOf(f, "object.?status.?conditions.orValue([]).exists(c, c.?type.orValue('') == 'Complete')", "object.metadata.creationTimestamp"),
		ruleOf(f, "object.spec.size() > 0 || has(object.metadata.labels)", "timestamp(object.status.completionTime)"),
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole map[string]any
		if json.Unmarshal(data, &whole) != nil || sigsjson.UnmarshalCaseSensitivePreserveInts(data, &whole) != nil || whole == nil {
			return
		}
		part, err := engine.NewDecoder(rules...).Decode(data)
		if err != nil {
			t.Fatalf("%v, but encoding/json reads it", err)
		}
		want, wantErr := engine.SubjectOf(whole)
		got, gotErr := engine.SubjectOf(part)
		if (wantErr == nil) != (gotErr == nil) || (wantErr == nil && want != got) {
			t.Errorf("subject %+v, %v; of the whole %+v, %v", got, gotErr, want, wantErr)
		}
		for _, r := range rules {
			w, g := r.Facts(t.Context(), whole), r.Facts(t.Context(), part)
			if w.Selected != g.Selected || w.Eligible != g.Eligible || !w.Start.Equal(g.Start) || w.TTL != g.TTL || (w.Err == nil) != (g.Err == nil) {
				t.Errorf("facts %+v; of the whole %+v", g, w)
			}
		}
	})
}

// BenchmarkDecode compares the formats in which an API server returns a finished Job. Each decoder returns what
// expressions see.
func BenchmarkDecode(b *testing.B) {
	forms := jobForms(b)
	decoder := engine.NewDecoder(ruleOf(b, "finished(object)", "finishedAt(object)"))
	ways := []struct {
		name   string
		data   []byte
		decode func(data []byte) (map[string]any, error)
	}{
		{"JSON, what the rules read", forms.json, decoder.Decode},
		{"JSON, everything", forms.json, func(data []byte) (object map[string]any, err error) {
			err = sigsjson.UnmarshalCaseSensitivePreserveInts(data, &object)
			return object, err
		}},
		{"CBOR, everything", forms.cbor, func(data []byte) (object map[string]any, err error) {
			err = cbor.Unmarshal(data, &object)
			return object, err
		}},
		{"Protobuf, everything", forms.protobuf, func(data []byte) (map[string]any, error) {
			job := &batchv1.Job{}
			if err := job.Unmarshal(data); err != nil {
				return nil, err
			}
			return runtime.DefaultUnstructuredConverter.ToUnstructured(job)
		}},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if object, err := way.decode(way.data); err != nil || object["status"] == nil {
					b.Fatal(object, err)
				}
			}
		})
	}
}

// forms are the encodings of one Job.
type forms struct{ json, cbor, protobuf []byte }

func jobForms(b *testing.B) forms {
	b.Helper()
	job := &batchv1.Job{}
	data, err := os.ReadFile("testdata/objects/job-complete.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, job)
	}
	expect.NoError(b, err)
	var f forms
	if f.json, err = json.Marshal(job); err != nil {
		b.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err == nil {
		f.cbor, err = cbor.Marshal(object)
	}
	if err == nil {
		f.protobuf, err = job.Marshal()
	}
	expect.NoError(b, err)
	return f
}

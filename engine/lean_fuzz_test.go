// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"testing"

	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/test/fixture"
)

// FuzzLean compares two ways to evaluate an expression: decoding only the fields that it reads and our adapter, and
// decoding the whole object and cel-go's own adapter.
func FuzzLean(f *testing.F) {
	for i, text := range seedExpressions {
		f.Add(text, `{"status":{"conditions":[{"type":"a","status":"True"},{}],"phase":"x"},"metadata":{"name":"a","labels":{"a":"b"}}}`)
		f.Add(text, hostileObjects[i%len(hostileObjects)])
	}
	f.Add("object.metadata.annotations", `{"metadata":{"annotations":{"a":"1","sunset-k8s.io/hold":"true"}}}`)
	f.Add("object.metadata == object.metadata", `{"metadata":{"name":"a","name":"b","labels":null}}`)
	f.Add("object.a[0].b", `{"a":[{"b":1e400},{"b":18446744073709551616}],"A":2}`)
	c := fixture.Compiler(f)
	f.Fuzz(func(t *testing.T, text, data string) {
		var whole map[string]any
		if json.Unmarshal([]byte(data), &whole) != nil || sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(data), &whole) != nil || whole == nil {
			t.Skip()
		}
		e, ok := c.Expression(text)
		if !ok || ours(text) {
			t.Skip()
		}
		part, err := e.Decode([]byte(data))
		if err != nil {
			t.Fatalf("%v, but encoding/json reads it", err)
		}
		withoutBallast(whole)
		lean, errOfLean := e.Value(part)
		plain, errOfPlain := e.CommonValue(whole)
		if !same(lean, errOfLean, plain, errOfPlain) && stable(e.CommonValue, whole) {
			t.Errorf("%s\nreads    %v\nobject   %v\nour way  %v, %v\ncel-go's %v, %v", text, e.Fields(), whole, lean, errOfLean, plain, errOfPlain)
		}
	})
}

// withoutBallast removes the fields that expressions never see.
func withoutBallast(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
}

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestPodSpecsOfAnyShape: a value that is not a PodSpec is an error. The part of it that the expression reads has the
// same error.
func TestPodSpecsOfAnyShape(t *testing.T) {
	c := fixture.Compiler(t)
	e, ok := c.Expression("configMapsIn(object.spec)")
	if !ok {
		t.Fatal("does not compile")
	}
	for name, test := range map[string]struct{ spec, fails string }{
		"nothing":                            {`{}`, ""},
		"nulls":                              {`{volumes: null, containers: [null, {env: null, envFrom: [null, {configMapRef: null}]}]}`, ""},
		"names":                              {`{volumes: [{configMap: {name: a}, other: {name: b}}], containers: [{env: [{name: x, valueFrom: {configMapKeyRef: {name: c}}}]}]}`, ""},
		"not a PodSpec":                      {`text`, "configMapsIn"},
		"volumes that are a string":          {`{volumes: text}`, "a list"},
		"volumes that are an object":         {`{volumes: {configMap: {name: a}}}`, "a list"},
		"a volume that is a list":            {`{volumes: [[{configMap: {name: a}}]]}`, "configMap.name"},
		"a reference that is a list":         {`{volumes: [{configMap: [{name: a}]}]}`, "an object with name"},
		"a name that is a number":            {`{volumes: [{configMap: {name: 7}}]}`, "a name"},
		"a name that is an object":           {`{volumes: [{configMap: {name: {name: a}}}]}`, "a name"},
		"sources that are an object":         {`{volumes: [{projected: {sources: {configMap: {name: a}}}}]}`, "a list"},
		"containers by name":                 {`{containers: {main: {envFrom: [{configMapRef: {name: a}}]}}}`, "a list"},
		"an init container that is a string": {`{initContainers: [text]}`, "an object with env"},
	} {
		t.Run(name, func(t *testing.T) {
			var whole map[string]any
			expect.NoError(t, yaml.Unmarshal([]byte(`{spec: `+test.spec+`}`), &whole))
			v, err := e.Value(whole)
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%v, error %v, want %q", v, err, test.fails)
			}
			if part, errOfPart := e.Value(e.Part(whole)); !same(v, err, part, errOfPart) {
				t.Errorf("%v, %v; on the part that it reads %v, %v", v, err, part, errOfPart)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

const record = `{"time":"2026-03-01T12:00:00Z","result":"deleted","object":{"apiVersion":"batch/v1","kind":"Job","namespace":"shop","name":"report","uid":"u1","resourceVersion":"7"},"policy":"batch","policyUID":"p","rule":"jobs","reason":"Expired","dueTime":"2026-03-01T12:00:00Z","controller":"c"}`

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want bool
	}{
		"a line of the log":         {`{"level":"info","logger":"audit","msg":"object deleted","deletion":` + record + `}`, true},
		"a line in format console":  {"2026-03-01T12:00:00Z\tINFO\taudit\tobject deleted\t" + `{"deletion": ` + record + `}`, true},
		"a prefix of kubectl logs":  {`[pod/sunset-7d9f/sunset] {"msg":"object deleted","deletion":` + record + `}`, true},
		"a CloudEvent":              {`{"specversion":"1.0","type":"io.sunset-k8s.deletion.v1","id":"1","data":` + record + `}`, true},
		"a CloudEvent of another":   {`{"specversion":"1.0","type":"com.example.deletion","id":"1","data":` + record + `}`, false},
		"a CloudEvent without data": {`{"specversion":"1.0","type":"io.sunset-k8s.deletion.v1","id":"1"}`, false},
		"another line of the log":   {`{"level":"info","msg":"policy read","policy":"batch"}`, false},
		"a record without a result": {`{"deletion":{"object":{"name":"report"},"policy":"batch"}}`, false},
		"half a line":               {`{"level":"info","msg":"object deleted","deletion":{"time":"2026`, false},
		"text":                      {`panic: no`, false},
		"nothing":                   {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := audit.Parse([]byte(test.line))
			expect.Equal(t, "is a record", test.want, ok)
			if ok {
				expect.Equal(t, "object", "Job.batch/shop/report", r.Object.String())
				expect.Equal(t, "rule", "jobs", r.Rule)
			}
		})
	}
}

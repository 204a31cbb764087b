// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestSubjectOf(t *testing.T) {
	tests := map[string]struct {
		object string
		want   policy.Subject
		err    string
	}{
		"a live object": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns, uid: u, resourceVersion: "7", creationTimestamp: "2026-03-01T14:00:00+02:00"}}`,
			want:   policy.Subject{Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "7", Created: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		},
		"an object from a file":              {object: `{metadata: {name: a, creationTimestamp: null}}`, want: policy.Subject{Name: "a"}},
		"terminating":                        {object: `{metadata: {name: a, deletionTimestamp: "2026-03-01T12:00:00Z"}}`, want: policy.Subject{Name: "a", Flags: policy.IsTerminating}},
		"held":                               {object: `{metadata: {name: a, annotations: {sunset-k8s.io/hold: "true"}}}`, want: policy.Subject{Name: "a", Flags: policy.IsHeld}},
		"held by an empty value":             {object: `{metadata: {name: a, annotations: {sunset-k8s.io/hold: ""}}}`, want: policy.Subject{Name: "a", Flags: policy.IsHeld}},
		"held by the value no":               {object: `{metadata: {name: a, annotations: {sunset-k8s.io/hold: "no"}}}`, want: policy.Subject{Name: "a", Flags: policy.IsHeld}},
		"held by a value that is null":       {object: `{metadata: {name: a, annotations: {sunset-k8s.io/hold: null}}}`, want: policy.Subject{Name: "a", Flags: policy.IsHeld}},
		"a TTL annotation":                   {object: `{metadata: {name: a, annotations: {sunset-k8s.io/ttl: 1h}}}`, want: policy.Subject{Name: "a", Flags: policy.HasTTL, OwnTTL: time.Hour}},
		"a TTL annotation of zero":           {object: `{metadata: {name: a, annotations: {sunset-k8s.io/ttl: 0s}}}`, want: policy.Subject{Name: "a", Flags: policy.HasTTL}},
		"an invalid TTL annotation":          {object: `{metadata: {name: a, annotations: {sunset-k8s.io/ttl: soon}}}`, want: policy.Subject{Name: "a"}},
		"a hold of false":                    {object: `{metadata: {name: a, annotations: {sunset-k8s.io/hold: "false"}}}`, want: policy.Subject{Name: "a"}},
		"a Pod that its Job has not counted": {object: `{apiVersion: v1, kind: Pod, metadata: {name: a, finalizers: [x, batch.kubernetes.io/job-tracking]}}`, want: policy.Subject{Name: "a", Flags: policy.IsUncounted}},
		"a Pod that its Job has counted":     {object: `{apiVersion: v1, kind: Pod, metadata: {name: a, finalizers: [x]}}`, want: policy.Subject{Name: "a"}},
		"the finalizer on another kind":      {object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, finalizers: [batch.kubernetes.io/job-tracking]}}`, want: policy.Subject{Name: "a"}},
		"no metadata":                        {object: `{kind: Job}`, err: "the object has no metadata"},
		"no name":                            {object: `{metadata: {generateName: a-}}`, err: "the object has no metadata.name"},
		"an invalid creationTimestamp":       {object: `{metadata: {name: a, creationTimestamp: soon}}`, err: `metadata.creationTimestamp: "soon" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`},
		"a number as creationTimestamp":      {object: `{metadata: {name: a, creationTimestamp: 7}}`, err: "metadata.creationTimestamp: creationTimestamp is not a time in RFC 3339, such as 2026-03-01T12:00:00Z"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := engine.SubjectOf(fixture.Decode(t, tc.object))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("got error %v", err)
				}
				return
			}
			expect.NoError(t, err)
			expect.Equal(t, "subject", tc.want, got)
		})
	}
}

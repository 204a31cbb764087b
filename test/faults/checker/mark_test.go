// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

func TestPatches(t *testing.T) {
	const annotated = `annotations: {sunset-k8s.io/eligible-since: '{"k":"2026-03-01T12:02:00Z"}'}`
	// marked patches a ConfigMap from one version to the next.
	marked := func(mode, ruled, before, after string, adjust ...func(*history.Request)) func(*past) {
		return func(p *past) {
			p.policy("p", mode, "", ", marked"+ruled)
			p.configMap("x", before)
			p.wait(2 * time.Minute)
			p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: x, `+after+`}}`, us)
			for _, a := range adjust {
				a(&p.requests[len(p.requests)-1])
			}
		}
	}
	body := func(text string) func(*history.Request) {
		return func(r *history.Request) { r.Body = []byte(text) }
	}
	const selected = `, target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: old}}}`
	tell(t, map[string]example{
		"a mark":                                             {tell: marked("Enforce", "", "labels: {}", annotated)},
		"a mark on a held object":                            {tell: marked("Enforce", "", `annotations: {sunset-k8s.io/hold: "true"}`, annotated)},
		"a mark of a dry run":                                {tell: marked("DryRun", "", "labels: {}", annotated), want: broken(checker.Restrained)},
		"a mark of a rule with startTime":                    {tell: marked("Enforce", ", startTime: object.metadata.creationTimestamp", "labels: {}", annotated), want: broken(checker.Restrained)},
		"a mark on an object that is not selected":           {tell: marked("Enforce", selected, "labels: {}", annotated), want: broken(checker.Restrained)},
		"a mark on an object that is not eligible":           {tell: marked("Enforce", ", eligible: 'false'", "labels: {}", annotated), want: broken(checker.Restrained)},
		"a mark removed from an object that is not selected": {tell: marked("Enforce", selected, annotated, "labels: {}")},
		"a mark on a terminating object":                     {tell: marked("Enforce", "", `deletionTimestamp: "2026-03-01T12:00:00Z"`, annotated), want: broken(checker.Marked)},
		"a mark although an override suspends the rule": {
			tell: func(p *past) {
				p.store(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {mode: DryRun, overrides: [{policy: p, suspend: true}]}}`)
				marked("Enforce", "", "labels: {}", annotated)(p)
			},
			want: broken(checker.Restrained),
		},
		"a patch without a version": {
			tell: marked("Enforce", "", "labels: {}", annotated, body(`{"metadata":{"annotations":{"sunset-k8s.io/eligible-since":"{}"}}}`)),
			want: broken(checker.Marked),
		},
		"another label": {
			tell: marked("Enforce", "", "labels: {}", annotated, body(`{"metadata":{"uid":"x-3","resourceVersion":"3","labels":{"a":"b"},"annotations":{"sunset-k8s.io/eligible-since":"{}"}}}`)),
			want: broken(checker.Marked),
		},
		"another annotation": {
			tell: marked("Enforce", "", "labels: {}", annotated, body(`{"metadata":{"uid":"x-3","resourceVersion":"3","annotations":{"sunset-k8s.io/eligible-since":"{}","a":"b"}}}`)),
			want: broken(checker.Marked),
		},
		"data": {
			tell: marked("Enforce", "", "labels: {}", annotated, body(`{"metadata":{"uid":"x-3","resourceVersion":"3","annotations":{"sunset-k8s.io/eligible-since":"{}"}},"data":{}}`)),
			want: broken(checker.Marked),
		},
		"a subresource": {
			tell: marked("Enforce", "", "labels: {}", annotated, func(r *history.Request) { r.Subresource = "status" }),
			want: broken(checker.Marked),
		},
	})
}

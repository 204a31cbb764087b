// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/test/expect"
)

// newSession returns a function that asks the engine in this process.
func newSession(t *testing.T) func(playground.Request) *response {
	t.Helper()
	s, err := playground.NewSession()
	expect.NoError(t, err)
	return func(r playground.Request) *response {
		t.Helper()
		data, err := json.Marshal(r)
		expect.NoError(t, err)
		return decoded(t, string(s.Answer(t.Context(), data)))
	}
}

// TestSessionKeepsObjects: a request without objects is about the objects of the last request.
func TestSessionKeepsObjects(t *testing.T) {
	ask := newSession(t)
	c := samples(t)[0]
	r := newRequest(c.policies, c.objects, c.want.At)
	first := ask(r).text
	r.Objects = nil
	expect.Equal(t, "second response", first, ask(r).text)
	r.Objects = &[]load.Text{}
	if got := ask(r); len(got.Preview.Verdicts) > 0 {
		t.Errorf("verdicts without objects: %s", got.text)
	}
}

// TestSessionShowsWindows: the message of a deferred object says until when it waits, and for what.
func TestSessionShowsWindows(t *testing.T) {
	ask := newSession(t)
	for _, s := range samples(t) {
		if s.name != "windows" && s.name != "freeze" {
			continue
		}
		deferred := 0
		for _, v := range ask(newRequest(s.policies, s.objects, s.want.At)).Preview.Verdicts {
			if v.Reason == "Deferred" {
				deferred++
				if v.Action != "Wait" || v.DueTime == "" || v.Message == "" {
					t.Errorf("%s: %+v", s.name, v)
				}
			}
		}
		if deferred == 0 {
			t.Errorf("%s: no object is deferred", s.name)
		}
	}
}

// TestSessionAllowsKinds: policies about protected kinds are invalid, unless the request allows the kinds.
func TestSessionAllowsKinds(t *testing.T) {
	ask := newSession(t)
	all := samples(t)
	s := all[slices.IndexFunc(all, func(s sample) bool { return s.name == "unused/volumes" })]
	r := newRequest(s.policies, s.objects, s.want.At)
	if got := ask(r).Problems; len(got) == 0 || !strings.Contains(got[0].Hint, "--allow-kinds=PersistentVolumeClaim") {
		t.Errorf("problems of protected kinds: %+v", got)
	}
	r.AllowKinds = s.want.AllowKinds
	checkWant(t, s.want, ask(r))
}

// TestSessionChecksDigests: the response counts digests, and has their problems.
func TestSessionChecksDigests(t *testing.T) {
	const digest = "apiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionDigest\nmetadata: {name: d}\nspec: {schedule: never}\n"
	got := newSession(t)(newRequest([]string{ruleFor("true"), digest}, []string{hostileObject}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	if !strings.Contains(got.text, `"policies":1,"digests":1,`) {
		t.Errorf("numbers: %.100s", got.text)
	}
	if !slices.ContainsFunc(got.Problems, func(p playground.Problem) bool { return p.Policy == "d" && !p.Warning && p.FileLine > 0 }) {
		t.Errorf("problems: %+v", got.Problems)
	}
}

const hostileObject = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b, creationTimestamp: 2026-01-01T00:00:00Z}\n"

// ruleFor returns a policy with an expression.
func ruleFor(expression string) string {
	quoted, _ := json.Marshal(expression)
	return "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: bomb}\nspec:\n  rules:\n" +
		"  - {name: r, target: {apiVersion: v1, kind: Pod}, eligible: " + string(quoted) + ", ttl: 1h}\n"
}

// hostile is input that the engine must refuse, with a part of its response.
type hostile struct{ policies, objects, want string }

// hostileInput needs much time, memory or stack, or cannot be read.
var hostileInput = map[string]hostile{
	"loops in loops": {ruleFor(strings.Repeat("[1,2,3,4,5,6,7,8,9,10].all(x, ", 8) + "object.metadata.name != ''" + strings.Repeat(")", 8)),
		hostileObject, "too many nested loops"},
	"long loops": {ruleFor("lists.range(9999).all(x, lists.range(9999).all(y, x >= 0))"), hostileObject, `"errors":[{`},
	"text that grows": {ruleFor("[object.metadata.name" + strings.Repeat(".replace('a', 'aaaaaaaaaaaaaaaaaaaa')", 10) + "].size() > 0"),
		hostileObject, "builds more than"},
	"deep expressions": {ruleFor(strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000)), hostileObject, "nested too deeply"},
	"aliases that grow": {ruleFor("true"), "a: &a [x,x,x,x,x,x,x,x,x]\n" + "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "alias"},
	"deep YAML":           {ruleFor("true"), hostileObject + "deep: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "levels deep"},
	"deep YAML, in lines": {ruleFor("true"), hostileObject + "deep:\n" + strings.Repeat(" [\n", 9_000), "levels deep"},
	"deep JSON":           {ruleFor("true"), `{"apiVersion": "v1", "kind": "Pod", "deep": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", "levels deep"},
	"deep JSON, in lines": {ruleFor("true"), `{"apiVersion": "v1", "kind": "Pod", "deep":` + strings.Repeat("\n[", 9_000), "levels deep"},
	"deep lists":          {ruleFor("true"), strings.Repeat("- ", 20_000) + "a\n", "levels deep"},
	"deep policies":       {"spec: " + strings.Repeat("{a: ", 20_000), hostileObject, "levels deep"},
	"too many objects":    {ruleFor("true"), strings.Repeat("---\n"+hostileObject, playground.MaxObjects+1), "at most 20000"},
	"a binary file":       {ruleFor("true"), "\x00\x01\xff\xfe\x80PK", "control characters are not allowed"},
}

// refuseHostileInput checks the response to each input, and that the next request is answered.
func refuseHostileInput(t *testing.T, inputs map[string]hostile, ask func(playground.Request) *response) {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, in := range inputs {
		if got := ask(newRequest([]string{in.policies}, []string{in.objects}, at)); !strings.Contains(got.text, in.want) {
			t.Errorf("%s: want %q in %.500s", name, in.want, got.text)
		}
		if got := ask(newRequest([]string{ruleFor("true")}, []string{hostileObject}, at)); got.Preview == nil || len(got.Preview.Verdicts) != 1 {
			t.Errorf("%s: the next request fails: %s", name, got.text)
		}
	}
}

func TestSessionRefusesHostileInput(t *testing.T) {
	refuseHostileInput(t, hostileInput, newSession(t))
	tooMuch := map[string]hostile{"too much text": {ruleFor("true"), strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 70_000), "at most 64 MB"}}
	refuseHostileInput(t, tooMuch, newSession(t))
}

// TestSessionAcceptsBrackets: text with many open brackets is not deep if it is quoted or belongs to different objects.
func TestSessionAcceptsBrackets(t *testing.T) {
	objects := strings.Repeat("---\n"+hostileObject+"note: a [\n", 600) + hostileObject + "note: \"" + strings.Repeat("[", 600) + "\"\n"
	got := newSession(t)(newRequest([]string{ruleFor("true")}, []string{objects}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	if got.Error != nil {
		t.Errorf("refused: %v", got.Error)
	}
}

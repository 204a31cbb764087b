// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var (
	seen = time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
	used = time.Date(2026, 2, 20, 17, 30, 0, 0, time.UTC)
)

// imageRule is a rule about images that compiles, for tests to change.
func imageRule() v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: "images", Target: v1alpha1.Target{APIVersion: "node.sunset-k8s.io/v1alpha1", Kind: "Image"}, Eligible: "true", TTL: "7d",
	}
}

func image(tags ...string) *engine.Image {
	return &engine.Image{
		ID: "sha256:1", Tags: tags, Digests: []string{"registry.example.com/app@sha256:2"}, SizeBytes: 7, FirstSeen: seen, LastUsed: used,
	}
}

func TestIsImageID(t *testing.T) {
	one := strings.Repeat("1", 64)
	for id, want := range map[string]bool{
		one: true, "sha256:" + one: true, "sha512:" + one + one: true, "sha512:" + one: false, "sha256:" + one[1:]: false, "sha256:" + one + "1": false,
		"sha256:" + one[1:] + "A": false, "md5:" + one: false, ":" + one: false, "sha256:": false, "nginx": false, "sha256:sha256:" + one: false,
	} {
		expect.Equal(t, id, want, engine.IsImageID(id))
	}
}

func TestObjectOfAnImage(t *testing.T) {
	want := fixture.Decode(t, `
apiVersion: node.sunset-k8s.io/v1alpha1
kind: Image
metadata: {name: "sha256:1"}
spec: {tags: [a:1], digests: ["registry.example.com/app@sha256:2"], sizeBytes: 7, pinned: false, runtimeHandler: ""}
status: {firstSeen: "2026-02-01T08:00:00Z", lastUsed: "2026-02-20T17:30:00Z", unusedSince: "2026-02-20T17:30:00Z", inUse: false}
`)
	expect.Equal(t, "object", want, image("a:1").Object())
	never := &engine.Image{ID: "sha256:1", FirstSeen: seen, InUse: true}
	wantStatus := map[string]any{"firstSeen": "2026-02-01T08:00:00Z", "inUse": true}
	expect.Equal(t, "never used before", any(wantStatus), never.Object()["status"])
}

func TestImageIsReadAsItWasWritten(t *testing.T) {
	for name, i := range map[string]*engine.Image{
		"unused": image("a:1", "b:2"), "pinned": {ID: "sha256:1", Pinned: true, RuntimeHandler: "gvisor"}, "in use": {ID: "sha256:1", FirstSeen: seen, InUse: true},
		"unobserved for a while": {ID: "sha256:1", FirstSeen: seen, UnusedSince: used},
	} {
		got, err := engine.ImageOf(i.Object())
		expect.NoError(t, err)
		expect.Equal(t, name, i.Object(), got.Object())
		fromObject, err := engine.SubjectOf(i.Object())
		if diff := cmp.Diff(i.Subject(), fromObject); diff != "" || err != nil {
			t.Errorf("%s: %v -want +got\n%s", name, err, diff)
		}
	}
}

func TestSubjectOfAnImage(t *testing.T) {
	later := used.Add(time.Hour)
	tests := map[string]struct {
		image engine.Image
		want  policy.Subject
	}{
		"the age begins at the last use":             {*image(), policy.Subject{Created: used}},
		"without a last use, when it was first seen": {engine.Image{FirstSeen: seen}, policy.Subject{Created: seen}},
		"later, if no agent observed it":             {engine.Image{FirstSeen: seen, LastUsed: used, UnusedSince: later}, policy.Subject{Created: later}},
		"never before it was first seen":             {engine.Image{FirstSeen: used, UnusedSince: seen}, policy.Subject{Created: used}},
		"pinned and in use are flags":                {engine.Image{Pinned: true, InUse: true}, policy.Subject{Flags: policy.IsPinned | policy.IsInUse}},
	}
	for name, test := range tests {
		test.image.ID = "sha256:1"
		test.want.Name, test.want.UID = "sha256:1", "sha256:1"
		expect.Equal(t, name, test.want, test.image.Subject())
	}
}

func TestFactsOfImages(t *testing.T) {
	ssd := &engine.Node{Name: "n1", Labels: map[string]string{"disk": "ssd"}, Filesystem: &v1alpha1.NodeImageFilesystem{UsedBytes: 50, CapacityBytes: 100, UsedPercent: 50}}
	const repository = "imageRepository(object.spec.tags[?0].orValue(''))"
	// ofTag returns one value for tag v1 and another for any other tag.
	ofTag := func(one, other string) string {
		return "imageTag(object.spec.tags[0]) == 'v1' ? " + one + " : " + other
	}
	tests := map[string]struct {
		change func(*v1alpha1.Rule)
		image  *engine.Image
		node   *engine.Node
		want   policy.Facts
		err    string
	}{
		"without startTime, the start is the last use": {func(*v1alpha1.Rule) {}, image("a:v1"), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"without startTime and never used":             {func(*v1alpha1.Rule) {}, &engine.Image{ID: "1", FirstSeen: seen}, nil, policy.Facts{Eligible: true, Start: seen, Unpullable: true}, ""},
		"a startTime":                                  {func(r *v1alpha1.Rule) { r.StartTime = "object.status.firstSeen" }, image("a:v1"), nil, policy.Facts{Eligible: true, Start: seen}, ""},
		"a startTime that is none":                     {func(r *v1alpha1.Rule) { r.StartTime = "object.status.?lastUsed" }, &engine.Image{ID: "1", FirstSeen: seen}, nil, policy.Facts{Eligible: true, Unpullable: true}, ""},
		"several tags, all eligible":                   {func(r *v1alpha1.Rule) { r.Eligible = "object.spec.tags.size() == 1" }, image("a:v1", "a:v2"), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"several tags, one not eligible":               {func(r *v1alpha1.Rule) { r.Eligible = ofTag("true", "false") }, image("a:v1", "a:v2"), nil, policy.Facts{}, ""},
		"no tag":                                       {func(r *v1alpha1.Rule) { r.Eligible = "object.spec.tags == []" }, image(), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"one tag fails":                                {func(r *v1alpha1.Rule) { r.Eligible = ofTag("false", "1/0 == 1") }, image("a:v1", "a:v2"), nil, policy.Facts{}, "tag a:v2: eligible: division by zero"},
		"the latest start":                             {func(r *v1alpha1.Rule) { r.StartTime = ofTag("object.status.lastUsed", "object.status.firstSeen") }, image("a:v2", "a:v1"), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"one tag without a start":                      {func(r *v1alpha1.Rule) { r.StartTime = ofTag("optional.of(object.status.lastUsed)", "optional.none()") }, image("a:v2", "a:v1"), nil, policy.Facts{Eligible: true}, ""},
		"the longest time to live":                     {func(r *v1alpha1.Rule) { r.TTL, r.TTLExpression = "", ofTag("days(1)", "days(9)") }, image("a:v2", "a:v1"), nil, policy.Facts{Eligible: true, Start: used, TTL: 9 * policy.Day}, ""},
		"one tag without a time to live":               {func(r *v1alpha1.Rule) { r.TTL, r.TTLExpression = "", ofTag("optional.of(days(1))", "optional.none()") }, image("a:v1", "a:v2"), nil, policy.Facts{Eligible: true, Start: used, TTL: policy.NeverTTL}, ""},
		"one group":                                    {groupBy(repository), image("a:v1", "a:v2"), nil, policy.Facts{Eligible: true, Start: used, Group: "a"}, ""},
		"a group for each tag":                         {groupBy(repository), image("c:v1", "a:v2", "b:v1", "a:v1"), nil, policy.Facts{Eligible: true, Start: used, Group: "a", Also: []string{"b", "c"}}, ""},
		"the group of an image without tags":           {groupBy(repository), image(), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"all digests for each tag":                     {func(r *v1alpha1.Rule) { r.Eligible = "object.spec.digests.size() == 1" }, image("a:v1", "a:v2"), nil, policy.Facts{Eligible: true, Start: used}, ""},
		"the node's label":                             {func(r *v1alpha1.Rule) { r.Eligible = "node.labels[?'disk'].orValue('') == 'ssd'" }, image("a:v1"), ssd, policy.Facts{Eligible: true, Start: used}, ""},
		"the node's filesystem":                        {func(r *v1alpha1.Rule) { r.Eligible = "has(node.imageFs) && node.imageFs.usedPercent >= 50" }, image("a:v1"), ssd, policy.Facts{Eligible: true, Start: used}, ""},
		"a filesystem that is unknown":                 {func(r *v1alpha1.Rule) { r.Eligible = "has(node.imageFs)" }, image("a:v1"), &engine.Node{Name: "n"}, policy.Facts{}, ""},
		"a filesystem that is unknown, but read":       {func(r *v1alpha1.Rule) { r.Eligible = "node.imageFs.usedPercent > 1" }, image("a:v1"), nil, policy.Facts{}, "eligible: no such key: imageFs; if the field can be absent, use .?field or has()"},
	}
	c := fixture.Compiler(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := imageRule()
			test.change(&r)
			e := c.NewEvaluator(t.Context())
			defer e.Close()
			e.SetNode(test.node)
			object := test.image.Object()
			got := e.Facts(mustCompile(t, c, r), object)
			if (got.Err == nil) != (test.err == "") || got.Err != nil && got.Err.Error() != test.err {
				t.Fatalf("error %v, want %q", got.Err, test.err)
			}
			test.want.Selected, test.want.Err = true, got.Err
			if test.err == "" {
				test.want.FirstSeen = test.image.FirstSeen
			}
			if test.want.Eligible {
				test.want.Size.Bytes = test.image.SizeBytes
			}
			expect.Equal(t, "facts", test.want, got, cmp.Comparer(func(a, b error) bool { return a == b }))
			expect.Equal(t, "the object is unchanged", test.image.Object(), object)
		})
	}
}

func groupBy(text string) func(*v1alpha1.Rule) {
	return func(r *v1alpha1.Rule) { r.KeepNewest = &v1alpha1.KeepNewest{Count: 2, GroupBy: text} }
}

// TestUnpullable: an image is unpullable if it has only digests of images that were loaded onto the node.
func TestUnpullable(t *testing.T) {
	c := fixture.Compiler(t)
	rule, e := mustCompile(t, c, imageRule()), c.NewEvaluator(t.Context())
	defer e.Close()
	for digests, want := range map[string]bool{
		"":                       true,
		"localhost/app@sha256:2": true,
		"docker.io/library/import-2026-03-01@sha256:2":             true,
		"import-2026-03-01@sha256:2 localhost/app@sha256:2":        true,
		"registry.example.com/app@sha256:2":                        false,
		"localhost/app@sha256:2 registry.example.com/app@sha256:2": false,
		"localhost:5000/app@sha256:2":                              false,
		"registry.example.com/import-jobs@sha256:2":                false,
	} {
		of := &engine.Image{ID: "1", FirstSeen: seen, Digests: strings.Fields(digests)}
		expect.Equal(t, digests, want, e.Facts(rule, of.Object()).Unpullable)
	}
}

// TestOrderOfTagsDoesNotMatter: the facts about an image do not depend on the order of its tags.
func TestOrderOfTagsDoesNotMatter(t *testing.T) {
	r := imageRule()
	r.StartTime = "imageTag(object.spec.tags[0]) == 'v1' ? object.status.firstSeen : object.status.lastUsed"
	r.TTL, r.TTLExpression = "", "days(imageTag(object.spec.tags[0]) == 'v2' ? 3 : 5)"
	groupBy("imageRepository(object.spec.tags[0])")(&r)
	compiled := mustCompile(t, fixture.Compiler(t), r)
	want := compiled.Facts(t.Context(), image("a:v1", "b:v2", "c:v3").Object())
	for _, tags := range [][]string{{"a:v1", "c:v3", "b:v2"}, {"b:v2", "a:v1", "c:v3"}, {"b:v2", "c:v3", "a:v1"}, {"c:v3", "b:v2", "a:v1"}} {
		expect.Equal(t, fmt.Sprint(tags), want, compiled.Facts(t.Context(), image(tags...).Object()))
	}
}

func TestImageThatCannotBeReadIsAnError(t *testing.T) {
	compiled := mustCompile(t, fixture.Compiler(t), imageRule())
	for text, want := range map[string]string{
		`{metadata: {name: "1"}, spec: {tags: a}}`:                "tags: is not a list",
		`{metadata: {name: "1"}, spec: {tags: [1, 2]}}`:           "tags: has an element that is not a string: 1",
		`{metadata: {name: "1"}, status: {firstSeen: yesterday}}`: `firstSeen: "yesterday" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`,
		`{metadata: {name: "1"}, status: {inUse: "yes"}}`:         "inUse: is neither true nor false",
		`{metadata: {name: "1"}, spec: {sizeBytes: "7"}}`:         "sizeBytes: is not an integer",
		`{metadata: {name: "1"}, spec: {sizeBytes: 7.5}}`:         "sizeBytes: is not an integer",
		`{metadata: {name: "1"}, spec: {runtimeHandler: 7}}`:      "runtimeHandler: is not a string",
		`{metadata: {}}`: "metadata.name is missing: it is the ID of the image",
	} {
		if got := compiled.Facts(t.Context(), fixture.Decode(t, text)); got.Err == nil || got.Err.Error() != want || got.Eligible || !got.Selected {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

// TestProblemsOfRulesAboutImages: the fields of images are known without a cluster.
func TestProblemsOfRulesAboutImages(t *testing.T) {
	const has = " (object has metadata.name, spec.tags, .digests, .sizeBytes, .pinned, .runtimeHandler and status.firstSeen, " +
		".lastUsed, .unusedSince, .inUse; node has name, labels and imageFs.usedBytes, .capacityBytes, .usedPercent)"
	const endless = `images do not finish (omit startTime: ttl counts from the last use of the image; eligible: "true" selects all images)`
	variables := []v1alpha1.Variable{
		{Name: "label", Expression: "node.labels[?'disk'].orValue('')"},
		{Name: "gone", Expression: "finished(object) && object.status.succeeded > 0"}, // for rules about Jobs
		{Name: "both", Expression: "variables.gone && variables.label == 'ssd'"},
	}
	tests := map[string]struct {
		target, eligible string
		want             []string
	}{
		"all fields": {"Image", "object.kind == 'Image' && object.spec.sizeBytes > 1e9 && !object.spec.pinned && has(object.status.lastUsed) && " +
			"object.status.?unusedSince.hasValue() && node.name != '' && node.labels.all(k, k != 'a') && node.?imageFs.?usedPercent.orValue(0) > 3", nil},
		"a misspelt field": {"Image", "object.spec.tag == []", []string{`spec.rules[0].eligible:1:12: unknown field "tag" (did you mean object.spec.tags?)`}},
		"a field of other objects": {"Image", "object.metadata.creationTimestamp != ''", []string{`spec.rules[0].eligible:1:16: unknown field "creationTimestamp"` +
			" (an image has object.status.firstSeen; without startTime its age starts when it was last used, or else first seen)"}},
		"a field without its parent":               {"Image", "object.tags != []", []string{`spec.rules[0].eligible:1:7: unknown field "tags" (did you mean object.spec.tags?)`}},
		"an optional field":                        {"Image", "object.?tags.hasValue()", []string{`spec.rules[0].eligible:1:7: unknown field "tags" (did you mean object.spec.tags?)`}},
		"a field tested with has()":                {"Image", "has(object.tags)", []string{`spec.rules[0].eligible:1:1: unknown field "tags" (did you mean object.spec.tags?)`}},
		"a field of the node, read from the image": {"Image", "object.usedPercent > 1", []string{`spec.rules[0].eligible:1:7: unknown field "usedPercent" (did you mean node.imageFs.usedPercent?)`}},
		"a field that both have":                   {"Image", "node.metadata.name == ''", []string{`spec.rules[0].eligible:1:5: unknown field "metadata" (did you mean object.metadata?)`}},
		"labels":                                   {"Image", "object.metadata.labels['app'] == ''", []string{"spec.rules[0].eligible:1:16: images have no labels (read the labels of the node with node.labels)"}},
		"a clock":                                  {"Image", "now > 1", []string{"spec.rules[0].eligible:1:1: CEL has no clock (omit startTime and write ttl: 24h: the age of an image starts when it was last used, or else first seen)"}},
		"succeeded and failed":                     {"Image", "true && (succeeded(object) || failed(object))", []string{"spec.rules[0].eligible:1:10: " + endless, "spec.rules[0].eligible:1:31: " + endless}},
		"finished":                                 {"Image", "finished(object)", []string{"spec.rules[0].eligible:1:1: " + endless}},
		"finishedAt":                               {"Image", "object.spec.tags.exists(t, finishedAt(object).hasValue())", []string{"spec.rules[0].eligible:1:28: " + endless}},
		"a condition":                              {"Image", "!condition(object, 'Ready')", []string{"spec.rules[0].eligible:1:2: images have no conditions" + has}},
		"the time of a condition":                  {"Image", "conditionTime(object, 'Ready').hasValue()", []string{"spec.rules[0].eligible:1:1: images have no conditions" + has}},
		"an owner":                                 {"Image", "!controllerOf(object).hasValue()", []string{"spec.rules[0].eligible:1:2: images have no owner" + has}},
		"a misspelt field of a node":               {"Image", "node.lables == {}", []string{`spec.rules[0].eligible:1:5: unknown field "lables" (did you mean node.labels?)`}},
		"a comparison of a list with a string":     {"Image", "object.spec.tags == 'a'", []string{"spec.rules[0].eligible:1:18: == does not accept (list(string), string) (only values of one type can be equal: put strings in quotes, but not numbers)"}},
		"a string instead of a bool":               {"Image", "object.spec.tags[0]", []string{"spec.rules[0].eligible:1:1: returns string, but eligible must return bool (write a condition, such as finished(object) or object.status.phase == 'Succeeded')"}},
		"a variable of the node":                   {"Image", "variables.label == ''", nil},
		"a variable for Jobs": {"Image", "variables.both", []string{
			"spec.rules[0].eligible:1:1: variables.gone: " + endless, `spec.rules[0].eligible:1:1: variables.gone: unknown field "succeeded"` + has}},
		"a Job that reads the node": {"Job", "object.spec.parallelism > 1 && node.name == 'a'", []string{
			"spec.rules[0].eligible:1:32: node is available only in rules about images of nodes (rules about other objects can read only the object)"}},
		"a Job that reads it through a variable": {"Job", "variables.both", []string{
			"spec.rules[0].eligible:1:1: variables.both reads node, which is available only in rules about images of nodes (rules about other objects can read only the object)"}},
		"a Job and a loop variable of that name": {"Job", "object.status.nodes.all(node, node.name != 'x') && variables.gone", nil},
		"a loop variable that would hide the node": {"Image", "object.spec.tags.all(node, variables.label != node)", []string{
			"spec.rules[0].eligible:1:21: a loop variable cannot have the name node if the expression reads node (rename it, for example to n)"}},
	}
	c := fixture.Compiler(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			if test.target == "Image" {
				r = imageRule()
			}
			r.Eligible = test.eligible
			_, problems := c.Rule(r, variables, "spec.rules[0]")
			expect.Equal(t, "problems", test.want, policy.Lines(problems))
		})
	}
}

func TestRulesSayWhatTheyReadOfTheNode(t *testing.T) {
	for text, want := range map[string]string{
		"true": "", "node.labels['a'] == object.metadata.name": "labels.a", "variables.full && node.name != ''": "imageFs.usedPercent name",
		"dyn(node) != dyn(object)": "*", "has(node.imageFs)": "imageFs",
	} {
		r := imageRule()
		r.Eligible = text
		compiled := mustCompile(t, fixture.Compiler(t), r, v1alpha1.Variable{Name: "full", Expression: "node.imageFs.usedPercent > 80"})
		if got := strings.Join(compiled.NodeReads(), " "); got != want || compiled.ReadsNode() != (want != "") || !compiled.OnNodes() {
			t.Errorf("%s reads %q of the node: %v", text, got, compiled.ReadsNode())
		}
	}
}

func TestLoadOfRulesAboutImages(t *testing.T) {
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "nodes", UID: "u"}}
	bad := imageRule()
	bad.Name, bad.Target.Selector = "bad", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	d.Spec.Rules = []v1alpha1.Rule{imageRule(), bad}
	p := d.Load(policy.DefaultProtection())
	programs := fixture.Compiler(t).Load(p)
	if r := p.Rules[0]; r.Invalid() || r.Mark != "" || programs[r.Key].Marks() {
		t.Errorf("rule %+v: a rule about images has no mark", r)
	}
	r := p.Rules[1]
	if facts := programs[r.Key].Facts(t.Context(), image("a:v1").Object()); !r.Invalid() || !facts.Selected || facts.Eligible {
		t.Errorf("facts %+v: an invalid rule selects every image, because images have no labels", facts)
	}
}

func TestExplainTellsTheTagThatDecides(t *testing.T) {
	r := imageRule()
	r.Eligible = "imageTag(object.spec.tags[0]) != node.labels['keeps']"
	compiled := mustCompile(t, fixture.Compiler(t), r)
	node := &engine.Node{Labels: map[string]string{"keeps": "v2"}}
	for tags, want := range map[string]string{"a:v1": " true", "a:v1 a:v2 a:v3": "a:v2 false", "a:v3 a:v1": "a:v3 true"} {
		got := compiled.Explain(t.Context(), engine.Surroundings{Node: node}, image(strings.Fields(tags)...).Object())
		if got[0].Tag+" "+got[0].Value != want || len(got[0].Parts) == 0 {
			t.Errorf("%s: %+v, want %s", tags, got[0], want)
		}
	}
}

// TestExplainCountsTheStepsOfEachTag: the steps for one tag do not count for another, as in Facts.
func TestExplainCountsTheStepsOfEachTag(t *testing.T) {
	r := imageRule()
	r.Eligible = "lists.range(620).all(a, lists.range(100).all(b, a >= 0))" // two thirds of the steps
	compiled, object := mustCompile(t, fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Hour}), r), image("a:v1", "a:v2").Object()
	expect.Equal(t, "eligible by its facts", true, compiled.Facts(t.Context(), object).Eligible)
	explanations := compiled.Explain(t.Context(), engine.Surroundings{}, object)
	expect.NoError(t, explanations[0].Err)
	expect.Equal(t, "eligible as explained", "true", explanations[0].Value)
}

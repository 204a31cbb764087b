// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// documents are OpenAPI documents by path.
type documents struct {
	mu    sync.Mutex
	texts map[string]string
	reads int
	takes time.Duration
}

func (d *documents) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

func (d *documents) Paths() (map[string]openapi.GroupVersion, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts == nil {
		return nil, errors.New("no answer")
	}
	paths := map[string]openapi.GroupVersion{}
	for path, text := range d.texts {
		paths[path] = document{d, text}
	}
	return paths, nil
}

type document struct {
	of   *documents
	text string
}

func (d document) ServerRelativeURL() string { return "?hash=" + d.text }

func (d document) Schema(string) ([]byte, error) {
	d.of.mu.Lock()
	d.of.reads++
	d.of.mu.Unlock()
	time.Sleep(d.of.takes) // time stands still in a bubble while a goroutine waits for a mutex
	return []byte(d.text), nil
}

// batch has Jobs with only the field succeeded in their status.
const batch = `{"openapi":"3.0.0","info":{"title":"test","version":"1"},"components":{"schemas":{
"Job":{"type":"object","x-kubernetes-group-version-kind":[{"group":"batch","kind":"Job","version":"v1"}],"properties":{
  "metadata":{"type":"object","properties":{"creationTimestamp":{"type":"string","format":"date-time"}}},
  "status":{"type":"object","properties":{"succeeded":{"type":"integer"}}}}}}}}`

// reading returns a policy p with a rule for each field of the status.
func reading(fields ...string) string {
	var rules []string
	for i, field := range fields {
		rules = append(rules, fmt.Sprintf(`{name: r%d, target: {apiVersion: batch/v1, kind: Job}, eligible: "object.status.%s == 1", startTime: "timestamp(object.metadata.creationTimestamp)", ttl: 1h}`, i, field))
	}
	return "{mode: DryRun, rules: [" + strings.Join(rules, ", ") + "]}"
}

// checking runs a test with a started SchemaChecker.
func checking(t *testing.T, d *documents, test func(t *testing.T, c *policyset.SchemaChecker, changes func() int)) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		changed := 0
		c := policyset.NewSchemaChecker(d, clock.RealClock{})
		c.Changed = func() {
			mu.Lock()
			defer mu.Unlock()
			changed++
		}
		stop := bubble.Start(t, c.Start)
		test(t, c, func() int {
			mu.Lock()
			defer mu.Unlock()
			return changed
		})
		stop()
	})
}

// checkAll passes a snapshot to a SchemaChecker and waits.
func checkAll(c *policyset.SchemaChecker, l *harness) []*policy.Rule {
	e := l.last()
	c.Use(e)
	synctest.Wait()
	return e.Snapshot.Policies()[0].Rules
}

func TestWarnings(t *testing.T) {
	l := withPolicy(t, reading("succeeded", "suceeded"))
	d := &documents{texts: map[string]string{"apis/batch/v1": batch}}
	checking(t, d, func(t *testing.T, c *policyset.SchemaChecker, changes func() int) {
		rules := checkAll(c, l)
		expect.Equal(t, "warnings about a known field", 0, len(c.Warnings(rules[0].Key)))
		if w := c.Warnings(rules[1].Key); len(w) != 1 || !strings.Contains(w[0].Message, "suceeded") {
			t.Errorf("warnings about an unknown field: %v", w)
		}
		expect.Equal(t, "changes", 1, changes())
		checkAll(c, l)
		expect.Equal(t, "documents read", 1, d.reads)
		expect.Equal(t, "changes without new rules", 1, changes())

		key := rules[1].Key
		l.become(reading("succeeded"))
		checkAll(c, l)
		expect.Equal(t, "warnings about a removed rule", 0, len(c.Warnings(key)))
	})
}

func TestRuleThatCannotBeChecked(t *testing.T) {
	tests := map[string]map[string]string{
		"no response":            nil,
		"another group":          {"apis/apps/v1": batch},
		"a document with no Job": {"apis/batch/v1": `{"openapi":"3.0.0","components":{"schemas":{}}}`},
		"invalid JSON":           {"apis/batch/v1": `<html>`},
	}
	for name, texts := range tests {
		t.Run(name, func(t *testing.T) {
			l := withPolicy(t, reading("suceeded"))
			checking(t, &documents{texts: texts}, func(t *testing.T, c *policyset.SchemaChecker, _ func() int) {
				rules := checkAll(c, l)
				expect.Equal(t, "warnings", 0, len(c.Warnings(rules[0].Key)))
			})
		})
	}
}

func TestRuleIsCheckedWhenItsDocumentIsThere(t *testing.T) {
	l := withPolicy(t, reading("suceeded"))
	d := &documents{}
	checking(t, d, func(t *testing.T, c *policyset.SchemaChecker, _ func() int) {
		checkAll(c, l)
		d.mu.Lock()
		d.texts = map[string]string{"apis/batch/v1": batch}
		d.mu.Unlock()
		rules := checkAll(c, l)
		expect.Equal(t, "warnings", 1, len(c.Warnings(rules[0].Key)))
	})
}

func TestRuleIsCheckedAgainWhenItsDocumentHasChanged(t *testing.T) {
	l := withPolicy(t, reading("suceeded"))
	d := &documents{texts: map[string]string{"apis/batch/v1": batch}}
	checking(t, d, func(t *testing.T, c *policyset.SchemaChecker, changes func() int) {
		rules := checkAll(c, l)
		expect.Equal(t, "warnings", 1, len(c.Warnings(rules[0].Key)))
		time.Sleep(time.Hour)
		expect.Equal(t, "documents read", 1, d.count())
		d.mu.Lock()
		d.texts = map[string]string{"apis/batch/v1": strings.Replace(batch, `"succeeded"`, `"suceeded"`, 1)}
		d.mu.Unlock()
		time.Sleep(15 * time.Minute)
		expect.Equal(t, "warnings about the field that was added", 0, len(c.Warnings(rules[0].Key)))
		expect.Equal(t, "changes", 2, changes())
	})
}

// A document of several megabytes is not read again for each edit of a policy.
func TestEditsShareAReadOfTheDocument(t *testing.T) {
	l := withPolicy(t, reading("succeeded"))
	d := &documents{texts: map[string]string{"apis/batch/v1": batch}, takes: time.Second}
	checking(t, d, func(t *testing.T, c *policyset.SchemaChecker, _ func() int) {
		checkAll(c, l)
		for i := range 100 {
			l.become(reading(fmt.Sprint("failures", i)))
			c.Use(l.last())
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		expect.Equal(t, "documents read for 100 edits in 10 s", 1, d.count())
		bubble.Pass(time.Minute)
		expect.Equal(t, "documents read in the end", 2, d.count())
		expect.Equal(t, "the last edit is checked", 1, len(c.Warnings(checkAll(c, l)[0].Key)))
	})
}

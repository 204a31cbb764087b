// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy"
)

// SchemaChecker type-checks each rule against the OpenAPI documents of the cluster, and again when the document has changed. It reports
// warnings, which never change what a rule does.
type SchemaChecker struct {
	documents clientopenapi.Client
	clock     clock.Clock
	// Changed is called when there are new warnings.
	Changed func()

	wake wake.Signal

	compared time.Time         // when urls was last read
	urls     map[string]string // by path, the URL of a document: it has a hash of the content

	mu       sync.Mutex
	compiled CompiledSnapshot
	warnings map[string][]policy.Problem // by key, for every rule that was checked
}

// NewSchemaChecker returns a SchemaChecker that reads the documents of the client.
func NewSchemaChecker(documents clientopenapi.Client, c clock.Clock) *SchemaChecker {
	return &SchemaChecker{documents: documents, clock: c, warnings: map[string][]policy.Problem{}}
}

// Use sets the rules to check.
func (c *SchemaChecker) Use(e CompiledSnapshot) {
	c.mu.Lock()
	c.compiled = e
	c.mu.Unlock()
	c.wake.Send()
}

// Warnings returns the warnings about the rule with this key.
func (c *SchemaChecker) Warnings(key string) []policy.Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warnings[key]
}

// NeedLeaderElection returns true: only the warnings of the leader are read.
func (c *SchemaChecker) NeedLeaderElection() bool { return true }

// recheckEvery is how often to look again for a missing schema, for example that of a CRD that is not installed yet.
const recheckEvery = time.Minute

// compareEvery is how often to look for documents that have changed.
const compareEvery = 10 * time.Minute

// checkFactor is the pause before the next check, as a multiple of the duration of the last one.
const checkFactor = 20

// Start checks new rules until ctx ends.
func (c *SchemaChecker) Start(ctx context.Context) error {
	for c.wake.Wait(ctx, c.clock, recheckEvery) {
		began := c.clock.Now()
		c.checkNew(ctx)
		// A document has several megabytes: edits in quick succession share one read.
		wake.Sleep(ctx, c.clock, min(checkFactor*c.clock.Since(began), recheckEvery))
	}
	return nil
}

func (c *SchemaChecker) checkNew(ctx context.Context) {
	c.forgetChanged(ctx)
	schemas := Schemas{Documents: c.documents}
	for kind, keys := range c.unchecked() {
		schema, err := schemas.Of(kind)
		if err != nil { // a rule works unchecked: its schema may be missing, or not served yet
			log.FromContext(ctx).V(1).Info("not type-checked", "kind", kind.String(), "err", err.Error())
			continue
		}
		c.check(keys, schema)
		c.Changed()
	}
}

// forgetChanged drops the warnings of rules whose documents have changed.
func (c *SchemaChecker) forgetChanged(ctx context.Context) {
	if c.clock.Since(c.compared) < compareEvery {
		return
	}
	paths, err := c.documents.Paths()
	if err != nil {
		log.FromContext(ctx).V(1).Info("OpenAPI documents not listed", "err", err.Error())
		return
	}
	before := c.urls
	c.compared, c.urls = c.clock.Now(), map[string]string{}
	for path, document := range paths {
		c.urls[path] = document.ServerRelativeURL()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled.Snapshot == nil {
		return
	}
	for _, p := range c.compiled.Snapshot.Policies() {
		for _, r := range p.Rules {
			if path := documentOf(r.Kind.GroupVersion()); before[path] != c.urls[path] {
				delete(c.warnings, r.Key)
			}
		}
	}
}

// documentOf returns the path of the OpenAPI document of a version.
func documentOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// unchecked returns the valid rules that have not been checked, and drops the warnings of rules that no longer exist.
func (c *SchemaChecker) unchecked() map[schema.GroupVersionKind][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[schema.GroupVersionKind][]string{}
	used := map[string]bool{}
	if c.compiled.Snapshot == nil {
		return nil
	}
	for _, p := range c.compiled.Snapshot.Policies() {
		for _, r := range p.Rules {
			used[r.Key] = true
			if _, done := c.warnings[r.Key]; !done && !r.Invalid() && !r.OnNodes() { // the API server has no schema of images
				wanted[r.Kind] = append(wanted[r.Kind], r.Key)
			}
		}
	}
	maps.DeleteFunc(c.warnings, func(key string, _ []policy.Problem) bool { return !used[key] })
	return wanted
}

// check checks the rules with these keys against the schema of their kind.
func (c *SchemaChecker) check(keys []string, schema *spec.Schema) {
	c.mu.Lock()
	programs := c.compiled.Programs
	c.mu.Unlock()
	for _, key := range keys {
		var found []policy.Problem
		if program := programs[key]; program != nil {
			found = program.Check(schema)
		}
		c.mu.Lock()
		c.warnings[key] = found
		c.mu.Unlock()
	}
}

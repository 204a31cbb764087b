// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

const backupPolicy = `
metadata: {name: backups}
spec:
  mode: Enforce
  rules:
  - name: expired
    target: {apiVersion: vault.example.com/v1, kind: Backup}
    eligible: "true"
    startTime: object.spec.takenAt
    ttlExpression: object.spec.keepFor
`

// today is the clock of the vault and of the Reconciler.
var today = clocktesting.NewFakeClock(time.Date(2026, time.April, 1, 0, 0, 0, 0, time.UTC))

// Example shows another kind of subject: backups in a vault that is not an API server. The vault is their Source and
// Remover; the Reconciler adds policies, expressions, holds, timing and fairness.
func Example() {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		panic(err)
	}
	v := newVault(compiler)
	v.put("daily", backup{takenAt: "2026-03-01T00:00:00Z", keepFor: "7d"})
	v.put("yearly", backup{takenAt: "2026-01-01T00:00:00Z", keepFor: "366d"})
	v.put("trial", backup{takenAt: "2026-03-01T00:00:00Z", keepFor: "7d", held: true})

	removals := make(observer, 1)
	r := retention.New(retention.Options{
		Sources: v, Remover: v, Live: trusting{}, Observer: removals,
		Clock: today,
	})
	r.Use(snapshotOfBackups(compiler)) // call it again when policies change

	ctx, cancel := context.WithCancel(log.IntoContext(context.Background(), logr.Discard()))
	go func() { _ = r.Start(ctx) }()
	fmt.Println(<-removals)
	cancel()
	<-r.Done()
	fmt.Println("left:", v.names())

	// Output:
	// daily removed by backups/expired, due 2026-03-08 00:00:00 +0000 UTC
	// left: [trial yearly]
}

// snapshotOfBackups reads the policy. Backups are cluster-scoped, so the snapshot needs no namespaces.
func snapshotOfBackups(compiler *engine.Compiler) (*policy.Snapshot, map[string]*engine.Program) {
	data, err := yaml.YAMLToJSON([]byte(backupPolicy))
	if err != nil {
		panic(err)
	}
	document, err := policy.Parse(data)
	if err != nil {
		panic(err)
	}
	p := document.Load(policy.DefaultProtection())
	programs := compiler.Load(p)
	return policy.NewSnapshot([]*policy.Policy{p}, nil, policy.DefaultProtection()), programs
}

// backup is one version of one backup.
type backup struct {
	takenAt, keepFor string
	held             bool
	version          int
}

// vault keeps backups by name. It is a retention.Sources, and the Source and Remover of its one kind.
type vault struct {
	compiler *engine.Compiler

	mu       sync.Mutex
	backups  map[string]backup
	version  int // of the latest change
	watchers map[chan change]struct{}
}

// change is an event for a watcher: the current version of a backup, or its deletion.
type change struct {
	name string
	backup
	gone bool
}

func newVault(compiler *engine.Compiler) *vault {
	return &vault{compiler: compiler, backups: map[string]backup{}, watchers: map[chan change]struct{}{}}
}

func (v *vault) put(name string, b backup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.version++
	b.version = v.version
	v.backups[name] = b
	v.tell(change{name: name, backup: b})
}

// tell never waits for a watcher: it closes the channel of one that is too slow.
func (v *vault) tell(c change) {
	for watcher := range v.watchers {
		select {
		case watcher <- c:
		default:
			close(watcher)
			delete(v.watchers, watcher)
		}
	}
}

// watch returns all backups, and a channel with later changes.
func (v *vault) watch() (map[string]backup, chan change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	watcher := make(chan change, 100)
	v.watchers[watcher] = struct{}{}
	return maps.Clone(v.backups), watcher
}

func (v *vault) unwatch(watcher chan change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.watchers, watcher)
}

func (v *vault) names() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.backups))
}

// Open implements retention.Sources.
func (v *vault) Open(q retention.RuleSet) retention.Source {
	return &shelf{vault: v, asks: q}
}

// shelf is a retention.Source: the vault with a set of rules.
type shelf struct {
	vault *vault
	asks  retention.RuleSet
}

// Run implements retention.Source.
func (s *shelf) Run(ctx context.Context, sink retention.Sink) {
	evaluator := s.vault.compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	for ctx.Err() == nil {
		s.follow(ctx, evaluator, sink)
		sink.Lost(nil) // Sunset deletes nothing until the next Replace
	}
}

// follow lists, then passes on changes until ctx ends or some were missed.
func (s *shelf) follow(ctx context.Context, evaluator *engine.Evaluator, sink retention.Sink) {
	listed, changes := s.vault.watch()
	defer s.vault.unwatch(changes)
	var rows []*index.FactRow
	for name, b := range listed {
		rows = append(rows, s.row(evaluator, name, b))
	}
	sink.Replace(rows)
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-changes:
			switch {
			case !ok:
				return
			case c.gone:
				sink.Forget(uidOf(c.name))
			default:
				sink.Apply(s.row(evaluator, c.name, c.backup))
			}
		}
	}
}

// Read implements retention.Source.
func (s *shelf) Read(ctx context.Context, subject policy.Subject, take func(*index.FactRow)) error {
	s.vault.mu.Lock()
	b, ok := s.vault.backups[subject.Name]
	s.vault.mu.Unlock()
	if !ok {
		take(nil)
		return nil
	}
	evaluator := s.vault.compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	take(s.row(evaluator, subject.Name, b))
	return nil
}

// row returns the facts of each rule about a backup. The backup itself is not kept.
func (s *shelf) row(evaluator *engine.Evaluator, name string, b backup) *index.FactRow {
	object := map[string]any{ // the object as expressions see it: JSON values, numbers as int64 and float64
		"apiVersion": s.asks.Kind.GroupVersion().String(),
		"kind":       s.asks.Kind.Kind,
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"takenAt": b.takenAt, "keepFor": b.keepFor},
	}
	subject := policy.Subject{Name: name, UID: uidOf(name), ResourceVersion: strconv.Itoa(b.version)}
	if b.held {
		subject.Flags |= policy.IsHeld
	}
	asked := s.asks.About(subject.Namespace)
	facts := make([]policy.Facts, len(asked.Rules))
	for i, rule := range asked.Rules {
		facts[i] = evaluator.Facts(rule, object)
	}
	return index.NewFactRow(subject, asked.Layout, facts...)
}

// uidOf returns the identity of a backup. If the vault reused names, it would have to return something that is never
// reused.
func uidOf(name string) types.UID { return types.UID(name) }

// Prepare implements retention.Remover. It has nothing to wait for, and reads nothing, because remove compares the version.
func (v *vault) Prepare(_ context.Context, _ policy.DeletePermit, t policy.Target) (retention.Prepared, *retention.Outcome) {
	return retention.Prepared{Since: today.Now(), Send: func(_ context.Context, c policy.Clearance, since time.Time) retention.Outcome {
		if !preflight.Fresh(today.Now(), since) {
			return retention.Outcome{Unsent: true, Err: errors.New("an answer is too old")}
		}
		return v.remove(c, t)
	}}, nil
}

// remove compares the version and removes the backup in one step.
func (v *vault) remove(c policy.Clearance, t policy.Target) retention.Outcome {
	if !c.Permits(t) {
		return retention.Outcome{Result: retention.Refused, Err: errors.New("no clearance for this version")}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	name := t.Name
	b, ok := v.backups[name]
	switch {
	case !ok:
		return retention.Outcome{Result: retention.Gone, Err: errors.New("not found")}
	case strconv.Itoa(b.version) != t.ResourceVersion:
		return retention.Outcome{Result: retention.Changed, Err: errors.New("the object has changed since it was evaluated")}
	}
	delete(v.backups, name)
	v.tell(change{name: name, gone: true})
	return retention.Outcome{Result: retention.Removed}
}

// trusting is a preflight.Live without errors: there is one process and one vault, and the policies do not change.
type trusting struct{}

// Check implements preflight.Live.
func (trusting) Check(context.Context, string) (time.Time, error) { return today.Now(), nil }

// Prefetch implements preflight.Live.
func (trusting) Prefetch(context.Context, string, time.Time) {}

// Permit implements preflight.Live.
func (trusting) Permit(context.Context, *policy.Rule) (time.Time, error) { return today.Now(), nil }

// PermitOwner implements preflight.Live.
func (trusting) PermitOwner(context.Context, *policy.Rule, *policy.Owner) (time.Time, error) {
	return today.Now(), nil
}

// observer is a retention.Observer that sends a line for each deletion.
type observer chan string

// Removed implements retention.Observer.
func (w observer) Removed(r retention.Removal) {
	w <- fmt.Sprintf("%s removed by %s, due %s", r.Subject.Name, r.Rule.ID, r.Due)
}

// Attempted implements retention.Observer.
func (observer) Attempted(retention.Result) {}

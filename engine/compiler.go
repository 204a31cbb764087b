// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/diagnose"
)

const (
	// DefaultCacheSize is about how many bytes of compiled expressions a Compiler caches, in addition to those in use.
	DefaultCacheSize = 16 << 20
	// DefaultEvalDeadline is how long the expressions of one rule may take on one object. Evaluations reach MaxSteps or
	// MaxBuilt long before it, unless this process does not get CPU time.
	DefaultEvalDeadline = 5 * time.Second
)

// Options bounds a Compiler. The zero value means the defaults.
type Options struct {
	// CacheSize is about how many bytes of compiled expressions are cached, and the same number again for variables; 0
	// means DefaultCacheSize. A Program holds the expressions in use, so even a small cache does not compile them
	// twice.
	CacheSize int
	// EvalDeadline is how long the expressions of one rule may take on one object; 0 means DefaultEvalDeadline.
	EvalDeadline time.Duration
}

// Compiler compiles rules. It is safe for concurrent use. One Compiler is enough for a process.
type Compiler struct {
	base      *cel.Env // without the variable object
	env       *cel.Env
	functions *diagnose.Functions
	deadline  time.Duration

	scopes   *cache[*scope]
	compiled *cache[*compiled]
	extents  *cache[extent]
}

// NewCompiler builds the CEL environment, which takes a few milliseconds.
func NewCompiler(options Options) (*Compiler, error) {
	if options.CacheSize == 0 {
		options.CacheSize = DefaultCacheSize
	}
	if options.EvalDeadline == 0 {
		options.EvalDeadline = DefaultEvalDeadline
	}
	shared, err := environments()
	if err != nil {
		return nil, err
	}
	c := &Compiler{base: shared.base, env: shared.env, functions: shared.functions, deadline: options.EvalDeadline}
	if options.CacheSize < 0 {
		return nil, fmt.Errorf("cache size %d: must be positive", options.CacheSize)
	}
	c.scopes, c.compiled, c.extents = newCache[*scope](options.CacheSize), newCache[*compiled](options.CacheSize), newCache[extent](options.CacheSize/8)
	return c, nil
}

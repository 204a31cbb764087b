package engine

import (
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
)

const (
	// DefaultCacheSize is how many compiled expressions a Compiler remembers beside those in use, 4 to 12 kB each.
	DefaultCacheSize = 1024
	// DefaultEvalDeadline is how long the expressions of one rule may take on one object.
	DefaultEvalDeadline = 50 * time.Millisecond
)

// Options bounds a Compiler. The zero value means the defaults.
type Options struct {
	// CacheSize is how many compiled expressions are remembered; 0 means DefaultCacheSize. Expressions in use are held
	// by their Rule, so a small cache never compiles them again while they are.
	CacheSize int
	// EvalDeadline is how long the expressions of one rule may take on one object; 0 means DefaultEvalDeadline.
	EvalDeadline time.Duration
}

// Compiler compiles rules. It is safe for concurrent use, and one is enough for a process.
type Compiler struct {
	base     *cel.Env // everything but the object
	env      *cel.Env
	names    names
	deadline time.Duration

	scopes   *memo[*scope]
	compiled *memo[*compiled]
}

// NewCompiler builds the CEL environment, which takes a few milliseconds.
func NewCompiler(options Options) (*Compiler, error) {
	if options.CacheSize == 0 {
		options.CacheSize = DefaultCacheSize
	}
	if options.EvalDeadline == 0 {
		options.EvalDeadline = DefaultEvalDeadline
	}
	base, err := newBase()
	if err != nil {
		return nil, err
	}
	env, err := newEnvironment(base)
	if err != nil {
		return nil, err
	}
	c := &Compiler{base: base, env: env, names: namesOf(env), deadline: options.EvalDeadline}
	if c.scopes, err = newMemo[*scope](options.CacheSize); err != nil {
		return nil, fmt.Errorf("cache size %d: %w", options.CacheSize, err)
	}
	if c.compiled, err = newMemo[*compiled](options.CacheSize); err != nil {
		return nil, fmt.Errorf("cache size %d: %w", options.CacheSize, err)
	}
	return c, nil
}

// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/offline"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Limits of the input.
const (
	MaxBytes   = 64 << 20 // of all texts
	MaxObjects = 20_000
	maxDepth   = 500 // of brackets and indentation: the stack of a browser is small
)

// Session answers the requests of one page. It keeps the decoded objects between requests. It is for one goroutine.
type Session struct {
	compiler *engine.Compiler
	objects  *load.Files // decoded
	count    int
	invalid  error // why objects is nil
}

// NewSession returns a session without objects.
func NewSession() (*Session, error) {
	compiler, err := engine.NewCompiler(engine.Options{})
	return &Session{compiler: compiler, objects: load.InMemory()}, err
}

// Answer decodes a Request from JSON, and returns a Response in JSON. It never panics.
func (s *Session) Answer(ctx context.Context, request []byte) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.answer(ctx, request)); err != nil {
		return []byte(`{"error": {"message": "the result cannot be encoded"}}`)
	}
	return b.Bytes()
}

func (s *Session) answer(ctx context.Context, request []byte) (response *Response) {
	defer func() {
		if failure := recover(); failure != nil {
			response = failed(fmt.Errorf("the engine failed: %v; please report this input as a bug", failure))
		}
	}()
	var r Request
	if err := json.Unmarshal(request, &r); err != nil {
		return failed(fmt.Errorf("the request is invalid: %w", err))
	}
	if r.Objects != nil {
		s.setObjects(*r.Objects)
	}
	if s.invalid != nil {
		return failed(s.invalid)
	}
	response, err := s.judge(ctx, &r)
	if err != nil {
		return failed(err)
	}
	return response
}

// setObjects checks and decodes the objects.
func (s *Session) setObjects(texts []load.Text) {
	s.objects, s.count = load.InMemory(texts...), 0
	if s.invalid = check(texts...); s.invalid != nil {
		return
	}
	if s.invalid = s.objects.Keep(); s.invalid != nil {
		return
	}
	_ = s.objects.Feed()(func(b preview.Batch) error { // decoded, so that it cannot fail
		objects, err := b.Objects()
		s.count += len(objects)
		return err
	})
	if s.count > MaxObjects {
		s.invalid = fmt.Errorf("%d objects; the playground accepts at most %d: use kubectl sunset preview", s.count, MaxObjects)
	}
}

func check(texts ...load.Text) error {
	size := 0
	for _, text := range texts {
		size += len(text.Text)
		number, depth := 0, nesting{}
		for line := range strings.Lines(text.Text) {
			if number++; depth.add(line) {
				return &load.Error{File: text.Name, Line: number, Err: fmt.Errorf("nested more than %d levels deep; use kubectl sunset preview", maxDepth)}
			}
		}
	}
	if size > MaxBytes {
		return fmt.Errorf("%d MB of text; the playground accepts at most %d MB: use kubectl sunset preview", size>>20, MaxBytes>>20)
	}
	return nil
}

// nesting estimates how deep the values in a text may be: the open brackets and the indentation. In blocks of YAML, a line that is
// not indented ends all brackets. The page also ends an engine that runs out of stack.
type nesting struct{ open int }

// add adds a line, and reports whether it is too deep.
func (n *nesting) add(line string) bool {
	if !strings.ContainsAny(line[:1], " \t[]{}\"") {
		n.open = 0
	}
	indent := len(line) - len(strings.TrimLeft(line, " -?"))
	isQuoted := false
	for i := indent; i < len(line) && indent+n.open <= maxDepth; i++ {
		switch c := line[i]; {
		case c == '\\':
			i++
		case c == '"':
			isQuoted = !isQuoted
		case isQuoted:
		case c == '[', c == '{':
			n.open++
		case c == ']', c == '}':
			n.open = max(n.open-1, 0)
		}
	}
	return indent+n.open > maxDepth
}

func (s *Session) judge(ctx context.Context, r *Request) (*Response, error) {
	text := load.Text{Name: PolicyFile, Text: r.Policies}
	if err := check(text); err != nil {
		return nil, err
	}
	files := load.InMemory(text).And(s.objects)
	loader := load.NewLoader(s.compiler, policy.DefaultProtection("sunset-system").Allow(r.AllowKinds...))
	in, err := load.Skim(files, loader)
	if err != nil {
		return nil, err
	}
	in.CheckNames(true)
	in.Check(loader)
	if !r.AsWritten {
		in.Enforce()
	}
	response := &Response{Policies: len(in.Policies), Digests: len(in.Digests), Objects: in.Others, Problems: problemsOf(in)}
	result, notes, err := offline.Preview(ctx, files.Feed(), in, loader.Input(r.At))
	if err != nil {
		return nil, err
	}
	response.Notes, response.Preview = notes, result.Document()
	if r.Explain == nil {
		return response, nil
	}
	found, err := files.Find(r.Explain.Name, func(object map[string]any) bool { return objectOf(object) == *r.Explain })
	if len(found) == 0 || err != nil {
		return response, err
	}
	response.Page, _, err = offline.Explain(ctx, files, in, loader.Input(r.At), found[0])
	if err != nil {
		response.Notes = append(response.Notes, err.Error())
	}
	return response, nil
}

func failed(err error) *Response {
	problem := &Problem{Problem: policy.Problem{Message: err.Error()}}
	var at *load.Error
	if errors.As(err, &at) {
		problem.File, problem.FileLine, problem.Message = at.File, at.Line, at.Err.Error()
	}
	return &Response{Error: problem}
}

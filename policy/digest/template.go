// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

const (
	maxText  = 256 << 10 // of the result of a template, and of each function in it
	maxBytes = 4 << 20   // of the results of all functions
	maxSteps = 10_000    // iterations, and calls of templates and functions
	maxDepth = 100       // of templates that call each other
)

var (
	errTooLong  = fmt.Errorf("the text is longer than %d bytes", maxText)
	errTooLarge = fmt.Errorf("functions of the template return more than %d bytes", maxBytes)
	errTooSlow  = fmt.Errorf("the template has more than %d iterations and calls", maxSteps)
	errTooDeep  = fmt.Errorf("templates call each other more than %d deep", maxDepth)
	errNoPrintf = errors.New("printf is not available; use print")
)

// builtIn is the template of digests without one.
const builtIn = `Sunset digest {{.Digest}}: {{.Summary}}
{{- range .Policies}}

{{.Title}}: {{.DueNow}} due now, {{.Due}} within {{$.Ahead}}
{{- if .Deleted}}, {{if not .Exact}}about {{end}}{{.Deleted}} deleted{{end}}{{if .Gone}}, {{.Gone}} gone{{end}}
{{- with .Storage}}
Storage: {{.Text .Due}} due within {{$.Ahead}}
{{- if .Kept.Bytes}}, {{.Text .Kept}} kept{{end}}{{if .Deleted.Bytes}}, {{.Text .Deleted}} deleted{{end}}{{end}}
{{- range .Soonest}}
- {{date .DueTime}}: {{.Explain}}{{end}}
{{- range .Problems}}
! {{.Reason}}: {{.Message}}{{end}}
{{- end}}
{{- if .MorePolicies}}

Policies that are not listed: {{.MorePolicies}}{{end}}
{{- if .Uncounted}}

Policies whose deletions are not known: {{.Uncounted}}{{end}}
`

// parseTemplate reads a template, and makes it count what it does.
func parseTemplate(written string, zone *time.Location) (*template.Template, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs((&budget{}).functions(zone)).Parse(written)
	if err != nil {
		return nil, err
	}
	for _, defined := range t.Templates() {
		if defined.Tree != nil {
			countSteps(defined.Root)
			defined.Root.Nodes = slices.Concat([]parse.Node{call(enter, 1)}, defined.Root.Nodes, []parse.Node{call(enter, -1)})
		}
	}
	return t, nil
}

// budget is what one execution of a template has used.
type budget struct{ bytes, steps, depth int }

// functions replaces the functions of the library that may return long texts, and adds date, json and size.
func (b *budget) functions(zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"print":    b.bounded(func(a ...any) (string, error) { return fmt.Sprint(a...), nil }),
		"println":  b.bounded(func(a ...any) (string, error) { return fmt.Sprintln(a...), nil }),
		"html":     b.bounded(func(a ...any) (string, error) { return template.HTMLEscaper(a...), nil }),
		"js":       b.bounded(func(a ...any) (string, error) { return template.JSEscaper(a...), nil }),
		"urlquery": b.bounded(func(a ...any) (string, error) { return template.URLQueryEscaper(a...), nil }),
		"printf":   func(string, ...any) (string, error) { return "", errNoPrintf },
		"json":     func(v any) (string, error) { return b.bounded(func(a ...any) (string, error) { return text(a[0]) })(v) },
		"size":     size,
		"date":     func(t time.Time) string { return t.In(zone).Format("Mon 2 Jan 15:04 MST") },
	}
}

// size is a number of bytes for people, such as 1.5 GB.
func size(bytes int64) string {
	n, units := float64(bytes), []string{"B", "kB", "MB", "GB", "TB"}
	for n >= 1000 && len(units) > 1 {
		n, units = n/1000, units[1:]
	}
	return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) + " " + units[0]
}

// bounded is a function that fails if it gets or returns too much.
func (b *budget) bounded(f func(...any) (string, error)) func(...any) (string, error) {
	return func(a ...any) (string, error) {
		got := 0
		for _, one := range a {
			if text, ok := one.(string); ok {
				got += len(text)
			} else {
				got += len(fmt.Sprint(one))
			}
			if got > maxText {
				return "", errTooLong
			}
		}
		s, err := f(a...)
		if len(s) > maxText {
			return "", errTooLong
		}
		if b.bytes += len(s); b.bytes > maxBytes {
			return "", errTooLarge
		}
		return s, err
	}
}

// The names of the functions that count. A template cannot write them, because it is read without them.
const (
	step  = "sunset_step"
	enter = "sunset_enter"
)

func (b *budget) counting() template.FuncMap {
	return template.FuncMap{
		step: func(n int) (string, error) {
			if b.steps += n; b.steps > maxSteps {
				return "", errTooSlow
			}
			return "", nil
		},
		enter: func(n int) (string, error) {
			if b.depth += n; b.depth > maxDepth {
				return "", errTooDeep
			}
			return "", nil
		},
	}
}

// countSteps inserts at the beginning of a list of nodes, and of each list in it, a step for the list and for each call of a function.
func countSteps(list *parse.ListNode) {
	if list == nil {
		return
	}
	steps := 1
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			steps += calls(n.Pipe)
		case *parse.TemplateNode:
			steps += calls(n.Pipe)
		case *parse.RangeNode:
			steps += countBranch(&n.BranchNode)
		case *parse.IfNode:
			steps += countBranch(&n.BranchNode)
		case *parse.WithNode:
			steps += countBranch(&n.BranchNode)
		}
	}
	list.Nodes = slices.Concat([]parse.Node{call(step, steps)}, list.Nodes)
}

// countBranch counts in both lists of a branch, and returns the number of functions that its condition calls.
func countBranch(n *parse.BranchNode) int {
	countSteps(n.List)
	countSteps(n.ElseList)
	return calls(n.Pipe)
}

// calls is the number of functions that a node calls.
func calls(n parse.Node) (count int) {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		return 1
	case *parse.ChainNode:
		return calls(n.Node)
	case *parse.PipeNode:
		if n == nil {
			return 0
		}
		for _, command := range n.Cmds {
			for _, part := range command.Args {
				count += calls(part)
			}
		}
	}
	return count
}

// call is a node that calls a function that counts.
func call(name string, n int) parse.Node {
	t := template.New("").Funcs((&budget{}).counting())
	return template.Must(t.Parse(fmt.Sprintf("{{%s %d}}", name, n))).Root.Nodes[0]
}

// Text executes the template of a digest.
func (d *Digest) Text(c *Content) (string, error) {
	t, err := d.template.Clone()
	if err != nil {
		return "", err
	}
	var text limited
	var b budget
	if err := t.Funcs(b.functions(d.Schedule.Location())).Funcs(b.counting()).Execute(&text, c); err != nil {
		return "", fmt.Errorf("execute spec.template: %s", rbac.Line(err.Error()))
	}
	return text.String(), nil
}

// limited is a writer that fails at the maximum length.
type limited struct{ strings.Builder }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxText {
		return 0, errTooLong
	}
	return l.Builder.Write(p)
}

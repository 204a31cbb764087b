// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

const (
	maxText  = 256 << 10 // of the result of a template, and of each function in it
	maxTexts = 4 << 20   // of the results of all functions in it, because variables keep them
	maxSteps = 10_000    // iterations, and calls of templates and functions
)

var (
	errTooLong  = fmt.Errorf("the text is longer than %d bytes", maxText)
	errTooMuch  = fmt.Errorf("the functions take or return more than %d bytes", maxTexts)
	errTooSlow  = fmt.Errorf("the template has more than %d iterations and calls", maxSteps)
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

// parseTemplate reads a template. Each iteration, and each call of a template or of a function that may return a long text, is a step.
func parseTemplate(written string, zone *time.Location) (*template.Template, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs((&used{}).functions(zone)).Parse(written)
	if err != nil {
		return nil, err
	}
	for _, defined := range t.Templates() {
		if defined.Tree != nil {
			countSteps(defined.Root)
		}
	}
	return t, nil
}

// used is what an execution of a template has used.
type used struct{ steps, bytes int }

// functions replaces the functions of the library that may return long texts, and adds date, json and size.
func (u *used) functions(zone *time.Location) template.FuncMap {
	bounded := u.bounded
	return template.FuncMap{
		step:       u.step,
		"print":    bounded(func(a ...any) (string, error) { return fmt.Sprint(a...), nil }),
		"println":  bounded(func(a ...any) (string, error) { return fmt.Sprintln(a...), nil }),
		"html":     bounded(func(a ...any) (string, error) { return template.HTMLEscaper(a...), nil }),
		"js":       bounded(func(a ...any) (string, error) { return template.JSEscaper(a...), nil }),
		"urlquery": bounded(func(a ...any) (string, error) { return template.URLQueryEscaper(a...), nil }),
		"printf":   func(string, ...any) (string, error) { return "", errNoPrintf },
		"json":     func(v any) (string, error) { return bounded(func(a ...any) (string, error) { return text(a[0]) })(v) },
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

func (u *used) bounded(f func(...any) (string, error)) func(...any) (string, error) {
	return func(a ...any) (string, error) {
		if s, err := u.step(); err != nil {
			return s, err
		}
		given := 0
		for _, v := range a {
			if s, ok := v.(string); ok {
				given += len(s)
			}
		}
		if given > maxTexts {
			return "", errTooMuch
		}
		s, err := f(a...)
		switch u.bytes += len(s); {
		case len(s) > maxText:
			return "", errTooLong
		case u.bytes > maxTexts:
			return "", errTooMuch
		}
		return s, err
	}
}

// step is the name of the function that counts.
const step = "sunset_step"

func (u *used) step() (string, error) {
	if u.steps++; u.steps > maxSteps {
		return "", errTooSlow
	}
	return "", nil
}

// countSteps inserts a step at the beginning of a list of nodes, and of each loop in it.
func countSteps(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.RangeNode:
			countSteps(n.List)
			countSteps(n.ElseList)
		case *parse.IfNode:
			countSteps(n.List)
			countSteps(n.ElseList)
		case *parse.WithNode:
			countSteps(n.List)
			countSteps(n.ElseList)
		}
	}
	list.Nodes = append([]parse.Node{stepNode.Copy()}, list.Nodes...)
}

// stepNode calls step.
var stepNode = template.Must(template.New("").Funcs((&used{}).functions(time.UTC)).Parse("{{" + step + "}}")).Root.Nodes[0]

// Text executes the template of a digest.
func (d *Digest) Text(c *Content) (string, error) {
	t, err := d.template.Clone()
	if err != nil {
		return "", err
	}
	var text limited
	if err := t.Funcs((&used{}).functions(d.zone)).Execute(&text, c); err != nil {
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

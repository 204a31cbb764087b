package preview

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// WriteJSON writes a result as one JSON object, one verdict a line. There is a diff only where something was compared.
func WriteJSON(w io.Writer, r *Result) error {
	e := &encoder{w: w}
	e.printf("{\"at\": %q, \"verdicts\": [", FormatTime(r.At))
	for i, row := range r.Rows {
		e.element(i, row.Record())
	}
	e.printf("%s], \"errors\": [", e.end(len(r.Rows)))
	for i, f := range r.Failures {
		e.element(i, f)
	}
	e.printf("%s]", e.end(len(r.Failures)))
	if r.Compared {
		e.printf(", \"diff\": [")
		for i, c := range r.Changes {
			e.element(i, c)
		}
		e.printf("%s]", e.end(len(r.Changes)))
	}
	e.printf("}\n")
	return e.err
}

// encoder writes until something goes wrong, and then remembers what.
type encoder struct {
	w   io.Writer
	err error
}

func (e *encoder) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}

func (e *encoder) element(i int, value any) {
	data, err := marshal(value)
	if e.err == nil {
		e.err = err
	}
	separator := ",\n  "
	if i == 0 {
		separator = "\n  "
	}
	e.printf("%s%s", separator, data)
}

// marshal is JSON on one line, with < and > as they are: expressions and messages are full of them.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}

// end is the line end behind the last element, if there is one.
func (e *encoder) end(elements int) string {
	if elements == 0 {
		return ""
	}
	return "\n"
}

// WriteYAML writes a result as one YAML document.
func WriteYAML(w io.Writer, r *Result) error {
	e := &encoder{w: w}
	e.printf("at: %q\n", FormatTime(r.At))
	e.list("verdicts", len(r.Rows))
	for _, row := range r.Rows {
		e.item(row.Record())
	}
	e.list("errors", len(r.Failures))
	for _, f := range r.Failures {
		e.item(f)
	}
	if !r.Compared {
		return e.err
	}
	e.list("diff", len(r.Changes))
	for _, c := range r.Changes {
		e.item(c)
	}
	return e.err
}

func (e *encoder) list(key string, elements int) {
	if elements == 0 {
		e.printf("%s: []\n", key)
		return
	}
	e.printf("%s:\n", key)
}

func (e *encoder) item(value any) {
	data, err := yaml.Marshal([]any{value})
	if e.err == nil {
		e.err = err
	}
	e.printf("%s", data)
}

// WriteBuffered writes a result with one of the functions of this package, through a buffer.
func WriteBuffered(w io.Writer, r *Result, write func(io.Writer, *Result) error) error {
	buffer := bufio.NewWriterSize(w, 64<<10)
	if err := write(buffer, r); err != nil {
		return err
	}
	return buffer.Flush()
}

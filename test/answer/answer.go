// SPDX-License-Identifier: Apache-2.0

// Package answer builds responses of an API server for tests that implement it as an http.RoundTripper. It opens no socket,
// so a testing/synctest bubble can use it.
package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasons are the status reasons that API servers return with each code.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:    metav1.StatusReasonMethodNotAllowed,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
}

// Func is a function that answers requests.
type Func func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f Func) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Text is a response whose body is already JSON.
func Text(code int, body string) *http.Response {
	return of(code, io.NopCloser(strings.NewReader(body)))
}

// JSON is a response with a body. It panics if the body cannot be encoded.
func JSON(code int, body any) *http.Response {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Text(code, string(data))
}

// Status is a response with a failure.
func Status(code int) *http.Response { return Text(code, StatusText(code)) }

// StatusText is the JSON body of a failure with this code.
func StatusText(code int) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reasons[code], code)
}

// Stream is a response that stays open until its request ends or the caller closes the writer.
func Stream(r *http.Request) (*http.Response, *io.PipeWriter) {
	reader, writer := io.Pipe()
	context.AfterFunc(r.Context(), func() { reader.CloseWithError(context.Canceled) })
	return of(http.StatusOK, reader), writer
}

func of(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// Event writes an event of a watch. It does nothing if the watch is closed.
func Event(w io.Writer, event, object string) {
	data, err := json.Marshal(map[string]any{"type": event, "object": json.RawMessage(object)})
	if err == nil {
		_, _ = w.Write(append(data, '\n'))
	}
}

// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// emptyETag is the ETag of an empty object.
const emptyETag = "d41d8cd98f00b204e9800998ecf8427e"

// Down closes the connection of each request, as a host that is gone does.
func Down(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Slow forwards each request after a delay.
func Slow(by time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		r.Body = io.NopCloser(bytes.NewReader(drain(r))) // the server notices the end of a connection only after the body
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			store.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Refusing answers with a status and an error code of S3, such as 403 and AccessDenied or 507 and InsufficientStorage.
func Refusing(status int, code string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		drain(r)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected by the test proxy</Message></Error>", code)
	}
}

// Swallowing answers a write with success, and writes nothing.
func Swallowing(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	drain(r)
	w.Header().Set("ETag", `"`+emptyETag+`"`)
	w.WriteHeader(http.StatusOK)
}

// Keeping answers a write with success, and calls keep with what it was to write instead of asking the store. To write an object that the
// store treats as its own, keep must use the store, without the proxy.
func Keeping(keep func(name string, data []byte)) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		keep(nameIn(r.URL.Path), drain(r))
		w.Header().Set("ETag", `"`+emptyETag+`"`)
		w.WriteHeader(http.StatusOK)
	}
}

// Unanswered forwards a request, and closes the connection instead of answering it.
func Unanswered(_ http.ResponseWriter, r *http.Request, store http.Handler) {
	answerOf(store, r)
	panic(http.ErrAbortHandler)
}

// Torn closes the connection in the middle of the body of the answer.
func Torn(w http.ResponseWriter, r *http.Request, store http.Handler) {
	answer := answerOf(store, r)
	w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
	replay(w, answer, answer.Body.Bytes()[:answer.Body.Len()/2])
	_ = http.NewResponseController(w).Flush() // the client may have disconnected
	panic(http.ErrAbortHandler)
}

// Short answers with half of the body, as if the object were shorter.
func Short(w http.ResponseWriter, r *http.Request, store http.Handler) {
	answer := answerOf(store, r)
	forgetChecksums(answer.Header())
	replay(w, answer, answer.Body.Bytes()[:answer.Body.Len()/2])
}

// Flipped answers with one bit of the body changed.
func Flipped(w http.ResponseWriter, r *http.Request, store http.Handler) {
	answer := answerOf(store, r)
	body := answer.Body.Bytes()
	if len(body) > 0 {
		body[len(body)/2] ^= 1
	}
	forgetChecksums(answer.Header())
	replay(w, answer, body)
}

// forgetChecksums removes the headers by which a client would notice the change.
func forgetChecksums(h http.Header) {
	for key := range h {
		if len(key) > 15 && key[:15] == "X-Amz-Checksum-" {
			h.Del(key)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"cmp"
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// forever writes a text until the other side closes the connection.
func forever(to io.Writer, text string) {
	block := []byte(strings.Repeat(text, 1000))
	for {
		if _, err := to.Write(block); err != nil {
			return
		}
	}
}

// raw responds on the connection itself.
func raw(respond func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = connection.Close() }()
		respond(connection)
	}
}

func say(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// TestWebhooksThatLie has receivers with wrong responses: an attempt ends soon, with an error that names the cause and has nothing of the
// response. Its delay is at most an hour.
func TestWebhooksThatLie(t *testing.T) {
	status := func(retryAfter string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for name, test := range map[string]struct {
		respond http.HandlerFunc
		edit    func(*v1alpha1.DigestWebhook)
		err     string // empty if the digest is accepted
		delay   time.Duration
	}{
		"it accepts, with an endless body": {respond: func(w http.ResponseWriter, _ *http.Request) { forever(w, "secret") }},
		"it fails, with an endless body": {respond: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			forever(w, "secret")
		}, err: "status 502", delay: 10 * time.Second},
		"it does not speak HTTP":    {respond: raw(say("220 secret ESMTP\r\n")), err: "the response is not HTTP", delay: 10 * time.Second},
		"it closes the connection":  {respond: raw(func(net.Conn) {}), err: "send to the webhook: ", delay: 10 * time.Second},
		"its headers do not end":    {respond: raw(func(c net.Conn) { say("HTTP/1.1 200 OK\r\n")(c); forever(c, "X-Secret: a\r\n") }), err: "its headers are too long", delay: 10 * time.Second},
		"a header does not end":     {respond: raw(func(c net.Conn) { say("HTTP/1.1 200 OK\r\nX-Secret: ")(c); forever(c, "a") }), err: "its headers are too long", delay: 10 * time.Second},
		"it only begins to respond": {respond: raw(func(c net.Conn) { forever(c, "HTTP/1.1 100 Continue\r\n\r\n") }), err: "send to the webhook: ", delay: 10 * time.Second},
		"its encoding is unknown":   {respond: raw(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n")), err: "the response is not HTTP", delay: 10 * time.Second},
		"it has two lengths":        {respond: raw(say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: secret\r\n\r\n")), err: "the response is not HTTP", delay: 10 * time.Second},
		"it redirects": {respond: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/secret", http.StatusFound)
		}, err: "status 302", delay: 10 * time.Second},
		"another authority signed it":                {edit: func(w *v1alpha1.DigestWebhook) { w.CABundle = nil }, err: "certificate signed by unknown authority", delay: 10 * time.Second},
		"its certificate is another's":               {edit: func(w *v1alpha1.DigestWebhook) { w.URL = "https://secret.invalid/x" }, err: "certificate is valid for other names", delay: 10 * time.Second},
		"it asks for a minute":                       {respond: status("60"), err: "status 503", delay: time.Minute},
		"it asks for a time":                         {respond: status(created.Add(time.Minute + 10*time.Minute).Format(http.TimeFormat)), err: "status 503", delay: 10 * time.Minute},
		"it asks for a year":                         {respond: status("31536000"), err: "status 503", delay: time.Hour},
		"it asks for more seconds than a number has": {respond: status(strings.Repeat("9", 40)), err: "status 503", delay: 10 * time.Second},
		"it asks for a time in a century":            {respond: status("Sat, 01 Mar 2127 12:00:00 GMT"), err: "status 503", delay: time.Hour},
		"it asks for a time that is over":            {respond: status("Sun, 01 Mar 1998 12:00:00 GMT"), err: "status 503", delay: 10 * time.Second},
		"it asks for less than nothing":              {respond: status("-60"), err: "status 503", delay: 10 * time.Second},
		"it asks for nonsense":                       {respond: status("soon"), err: "status 503", delay: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.respond = test.respond
			w := &v1alpha1.DigestWebhook{
				URL: "https://example.com/d", CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw}),
			}
			if test.edit != nil {
				test.edit(w)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := h.Post(ctx, w)
			switch {
			case test.err == "":
				expect.NoError(t, err)
			case err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(strings.ToLower(err.Error()), "secret"):
				t.Errorf("error %v, want %q", err, test.err)
			default:
				expect.Equal(t, "delay", test.delay, digests.Backoff(1, err))
			}
			expect.NoError(t, ctx.Err())
		})
	}
}

// TestWebhooksWithoutAConnection: the error says why the connection failed, and has neither the host nor the text of a proxy.
func TestWebhooksWithoutAConnection(t *testing.T) {
	for want, err := range map[string]error{
		"its name cannot be resolved":              &net.DNSError{Err: "no such host", Name: "secret.example.com"},
		"it does not respond in time":              &net.DNSError{Err: "i/o timeout", Name: "secret.example.com", IsTimeout: true},
		"the connection fails: connection refused": &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"the proxy responds with status 407":       nil,
	} {
		t.Run(want, func(t *testing.T) {
			h := newHarness(t)
			if err != nil {
				h.FailToConnect(err)
			} else {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				expect.NoError(t, err)
				defer func() { _ = listener.Close() }()
				go accepting(say("HTTP/1.1 407 secret\r\n\r\n"))(listener, h)
				h.ConnectTo(listener.Addr().String())
				h.UseProxy(&url.URL{Scheme: "http", Host: "proxy.example.com:3128"})
			}
			failed := h.Post(t.Context(), &v1alpha1.DigestWebhook{URL: "https://secret.example.com/d"})
			if failed == nil || failed.Error() != "send to the webhook: "+want {
				t.Errorf("error %v, want %q", failed, want)
			}
		})
	}
}

// TestMailServersThatLie is the same for SMTP.
func TestMailServersThatLie(t *testing.T) {
	bundle := func(h *harness) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw})
	}
	for name, test := range map[string]struct {
		serve             func(net.Listener, *harness)
		untrusts          bool
		host, credentials string
		timeout           time.Duration
		err               string
	}{
		"it does not greet":              {serve: accepting(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), timeout: 100 * time.Millisecond, err: "does not respond in time"},
		"it greets and hangs":            {serve: accepting(func(c net.Conn) { say("220 example.com\r\n")(c); _, _ = io.Copy(io.Discard, c) }), timeout: 100 * time.Millisecond, err: "does not respond in time"},
		"it closes the connection":       {serve: accepting(func(net.Conn) {}), err: "it closes the connection"},
		"it speaks HTTP":                 {serve: accepting(say("HTTP/1.1 400 Bad Request\r\n\r\n")), err: "is not SMTP"},
		"its greeting does not end":      {serve: accepting(func(c net.Conn) { forever(c, "secret") }), err: "too long"},
		"its greeting has endless lines": {serve: accepting(func(c net.Conn) { forever(c, "220-secret\r\n") }), err: "too long"},
		"it refuses":                     {serve: accepting(say("554 secret\r\n")), err: "responds with code 554"},
		"another authority signed it": {untrusts: true, serve: func(l net.Listener, h *harness) { serveMail(l, h.receiver.TLS, "250 STARTTLS", "250 ok") },
			err: "certificate signed by unknown authority"},
		"its certificate has another name": {host: "mail.example.org", serve: func(l net.Listener, h *harness) { serveMail(l, h.receiver.TLS, "250 STARTTLS", "250 ok") },
			err: "send to the SMTP server: its certificate is valid for other names"},
		"it has no AUTH": {credentials: "smtp", serve: func(l net.Listener, h *harness) { serveMail(l, h.receiver.TLS, "250 STARTTLS", "250 ok") },
			err: "send to the SMTP server: it does not accept credentials (no AUTH)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.secrets["smtp/username"], h.secrets["smtp/password"] = "user", "password"
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			expect.NoError(t, err)
			defer func() { _ = listener.Close() }()
			h.ConnectTo(listener.Addr().String())
			go test.serve(listener, h)
			to := &v1alpha1.DigestMail{Server: cmp.Or(test.host, "example.com") + ":587", From: "sunset@example.com", To: []string{"a@example.com"}}
			if test.credentials != "" {
				to.CredentialsFrom = &v1alpha1.SecretName{Name: test.credentials}
			}
			if !test.untrusts {
				to.CABundle = bundle(h)
			}
			if test.timeout == 0 {
				test.timeout = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			if err := h.Mail(ctx, to); err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

// accepting serves one connection.
func accepting(serve func(net.Conn)) func(net.Listener, *harness) {
	return func(l net.Listener, _ *harness) {
		if connection, err := l.Accept(); err == nil {
			defer func() { _ = connection.Close() }()
			serve(connection)
		}
	}
}

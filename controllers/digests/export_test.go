// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Tick makes one tick and waits for the work that it has started.
func (n *Notifier) Tick(ctx context.Context) {
	n.tick(ctx)
	n.working.Wait()
}

// TickOnly makes one tick.
func (n *Notifier) TickOnly(ctx context.Context) { n.tick(ctx) }

// ConnectTo connects to an address in place of every receiver.
func (n *Notifier) ConnectTo(address string) {
	n.sender.proxy = nil
	n.sender.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
}

// FailToConnect returns an error in place of a connection.
func (n *Notifier) FailToConnect(err error) {
	n.sender.dial = func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

// UseProxy sends requests to a proxy.
func (n *Notifier) UseProxy(u *url.URL) { n.sender.proxy = http.ProxyURL(u) }

// ConnectToPipes connects to pipes that nothing reads.
func (n *Notifier) ConnectToPipes() {
	n.sender.proxy = nil
	n.sender.dial = func(context.Context, string, string) (net.Conn, error) {
		connection, _ := net.Pipe()
		return connection, nil
	}
}

// Dial connects as to a receiver.
func Dial(ctx context.Context, address string) error {
	connection, err := dialer().DialContext(ctx, "tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err
}

// BodyOf returns the body and the content type of the request for a digest.
func BodyOf(d *digest.Digest, c *digest.Content) (body, contentType string, err error) {
	m, err := messageOf(d, c)
	return string(m.body), m.contentType, err
}

// MailOf returns a digest as a mail.
func (n *Notifier) MailOf(to *v1alpha1.DigestMail, subject, text string) string {
	return string(n.sender.encode(to, message{subject: subject, text: text}, "id"))
}

// Post sends a message to a webhook.
func (n *Notifier) Post(ctx context.Context, w *v1alpha1.DigestWebhook) error {
	return n.sender.post(ctx, w, message{body: []byte("{}")})
}

// Mail sends a message over SMTP.
func (n *Notifier) Mail(ctx context.Context, to *v1alpha1.DigestMail) error {
	return n.sender.mail(ctx, to, message{subject: "a", text: "b"}, "id")
}

// Backoff returns the delay after a failure.
func Backoff(failures int, err error) time.Duration { return backoff(failures, err) }

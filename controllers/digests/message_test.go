// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestBody(t *testing.T) {
	content := &digest.Content{Digest: "d", Ahead: "24h", Due: 3, ScheduledTime: created, Time: created, Policies: []digest.Policy{}}
	for name, test := range map[string]struct {
		format                      v1alpha1.DigestFormat
		template, want, contentType string
	}{
		"CloudEvents":             {"", "text", `{"data":{"ahead":"24h","deleted":0,"digest":"d","due":3,"dueNow":0,"gone":0,"morePolicies":0,"policies":[],"scheduledTime":"2026-03-01T12:00:00Z","stuck":0,"text":"text","time":"2026-03-01T12:00:00Z","uncounted":0},"datacontenttype":"application/json","id":"u1-2026-03-01T12:00:00Z","source":"sunset-k8s.io/retentiondigests/d","specversion":"1.0","time":"2026-03-01T12:00:00Z","type":"io.sunset-k8s.digest.v1"}`, "application/cloudevents+json; charset=utf-8"},
		"Slack, without mentions": {v1alpha1.DigestSlack, "<!channel> {{.Due}} & more", `{"text":"\u0026lt;!channel\u0026gt; 3 \u0026amp; more"}`, "application/json"},
		"Teams, without links":    {v1alpha1.DigestTeams, "a\n[b](c)", `{"attachments":[{"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","body":[{"text":"a\n\n\\[b](c)","type":"TextBlock","wrap":true}],"type":"AdaptiveCard","version":"1.4"},"contentType":"application/vnd.microsoft.card.adaptive"}],"type":"message"}`, "application/json"},
		"JSON":                    {v1alpha1.DigestText, `{"due": {{.Due}}}`, `{"due": 3}`, "application/json"},
		"text":                    {v1alpha1.DigestText, "{{.Due}} due", "3 due", "text/plain; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.RetentionDigest{Spec: v1alpha1.DigestSpec{Schedule: "@daily", Template: test.template, Webhook: &v1alpha1.DigestWebhook{URL: "https://example.com", Format: test.format}}}
			written.Name, written.UID = "d", "u1"
			d, problems := digest.Load(written)
			if d == nil {
				t.Fatal(problems)
			}
			body, contentType, err := digests.BodyOf(d, content)
			expect.NoError(t, err)
			expect.Equal(t, "content type", test.contentType, contentType)
			if name == "CloudEvents" {
				var sorted any
				expect.NoError(t, json.Unmarshal([]byte(body), &sorted))
				data, err := json.Marshal(sorted)
				expect.NoError(t, err)
				body = string(data)
			}
			expect.Equal(t, "body", test.want, body)
		})
	}
}

// TestDial: Sunset connects to no loopback address, even if the name of a receiver resolves to one.
func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer func() { _ = listener.Close() }()
	if err := digests.Dial(t.Context(), listener.Addr().String()); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("connected: %v", err)
	}
}

func TestMailMessage(t *testing.T) {
	h := newHarness(t)
	mail := h.MailOf(&v1alpha1.DigestMail{From: "sunset@example.com", To: []string{"a@example.com", "b@example.com"}}, "Zählung", "über 3 = viel\n.\n")
	expect.Equal(t, "mail", "From: sunset@example.com\r\nTo: a@example.com, b@example.com\r\nSubject: =?utf-8?q?Z=C3=A4hlung?=\r\n"+
		"Date: Sun, 01 Mar 2026 12:01:00 +0000\r\nMessage-ID: <id@example.com>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n\r\n=C3=BCber 3 =3D viel\r\n.\r\n", mail)
}

// TestMail: a mail is sent after STARTTLS, with authentication; the digest is accepted when the server has accepted the mail.
func TestMail(t *testing.T) {
	h := newHarness(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer func() { _ = listener.Close() }()
	h.ConnectTo(listener.Addr().String())
	h.secrets["smtp/username"], h.secrets["smtp/password"] = "user", "password"
	h.add("d", func(s *v1alpha1.DigestSpec) {
		s.Webhook = nil
		s.Mail = &v1alpha1.DigestMail{
			Server: "example.com:587", From: "sunset@example.com", To: []string{"a@example.com"},
			CABundle:        pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw}),
			CredentialsFrom: &v1alpha1.SecretName{Name: "smtp"},
		}
	})
	for i, end := range []string{"451 try later", "250 accepted"} {
		commands := make(chan []string, 1)
		go func() { commands <- serveMail(listener, h.receiver.TLS, "250-STARTTLS\r\n250 AUTH PLAIN", end) }()
		h.at(time.Hour + time.Duration(i)*time.Minute)
		got := strings.Join(<-commands, "\n")
		for _, want := range []string{"STARTTLS", "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00user\x00password")), "MAIL FROM:<sunset@example.com>", "RCPT TO:<a@example.com>", "DATA", "Message-ID: <uid-d-2026-03-01T13.00.00Z@example.com>"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	h.wantReady("d", "Scheduled", "")
	expect.Equal(t, "accepted", true, h.status("d").AcceptedTime != nil)
}

// serveMail serves one SMTP connection, and returns what the client sends. extensions are those in the response to EHLO, end is the response to the mail.
func serveMail(listener net.Listener, config *tls.Config, extensions, end string) (lines []string) {
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	connection, err := listener.Accept()
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = connection.Close() }()
	in := bufio.NewReader(connection)
	say := func(text string) { _, _ = fmt.Fprint(connection, text+"\r\n") }
	say("220 example.com")
	for inData := false; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return lines
		}
		line = strings.TrimRight(line, "\r\n")
		lines = append(lines, line)
		switch {
		case inData && line == ".":
			inData = false
			say(end)
		case inData:
		case strings.HasPrefix(line, "EHLO"):
			say("250-example.com\r\n" + extensions)
		case line == "STARTTLS":
			say("220 go")
			secure := tls.Server(connection, config)
			connection, in = secure, bufio.NewReader(secure)
		case strings.HasPrefix(line, "AUTH"):
			say("235 ok")
		case line == "DATA":
			inData = true
			say("354 go")
		case line == "QUIT":
			say("221 bye")
			return lines
		default:
			say("250 ok")
		}
	}
}

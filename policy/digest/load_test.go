// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func webhook(url string) v1alpha1.DigestSpec {
	return v1alpha1.DigestSpec{Schedule: "0 8 * * *", Webhook: &v1alpha1.DigestWebhook{URL: url}}
}

func mail(server, from string, to ...string) v1alpha1.DigestSpec {
	return v1alpha1.DigestSpec{Schedule: "0 8 * * *", Mail: &v1alpha1.DigestMail{Server: server, From: from, To: to}}
}

func with(spec v1alpha1.DigestSpec, edit func(*v1alpha1.DigestSpec)) v1alpha1.DigestSpec {
	edit(&spec)
	return spec
}

const receiver = "https://hooks.example.com/x"

// loaded returns a valid digest.
func loaded(t *testing.T, spec v1alpha1.DigestSpec) *digest.Digest {
	t.Helper()
	written := &v1alpha1.RetentionDigest{Spec: spec}
	written.Name, written.CreationTimestamp = "daily", metav1.Time{Time: now.Add(-30 * 24 * time.Hour)}
	d, problems := digest.Load(written)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

func TestLoad(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.DigestSpec
		want string // in a problem; empty for none
	}{
		"a webhook":                           {webhook(receiver), ""},
		"a Service":                           {webhook("http://alerts.monitoring.svc:8080/x"), ""},
		"a private address":                   {webhook("https://10.1.2.3/x"), ""},
		"mail":                                {mail("smtp.example.com:587", "sunset@example.com", "a@example.com"), ""},
		"no receiver":                         {v1alpha1.DigestSpec{Schedule: "@daily"}, "spec: no receiver"},
		"two receivers":                       {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Mail = &v1alpha1.DigestMail{} }), "spec.mail: webhook is set too"},
		"no schedule":                         {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Schedule = "" }), "spec.schedule: missing"},
		"an unknown time zone":                {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.TimeZone = "Mars" }), `spec.timeZone: "Mars" is not a time zone`},
		"an unknown period":                   {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Ahead = "Month" }), `spec.ahead: "Month" is not supported`},
		"an unknown format":                   {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Webhook.Format = "XML" }), `spec.webhook.format: "XML"`},
		"a template that cannot parse":        {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Template = "{{range}}" }), "spec.template: "},
		"a template that counts back":         {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Template = "{{sunset_step -9999}}" }), `spec.template: `},
		"a template with an unknown function": {with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Template = "{{env}}" }), `spec.template: `},
		"no URL":                              {webhook(""), "spec.webhook: either url or urlFrom must be set"},
		"http outside of the cluster":         {webhook("http://hooks.example.com"), "spec.webhook.url: it must begin with https://"},
		"another scheme":                      {webhook("file:///etc/passwd"), "spec.webhook.url: "},
		"a user in the URL":                   {webhook("https://user:secret@hooks.example.com"), "or has a user"},
		"localhost":                           {webhook("https://LOCALHOST./x"), "loopback"},
		"a loopback address":                  {webhook("https://127.0.0.2/x"), "loopback"},
		"a link-local address":                {webhook("https://169.254.169.254/latest"), "link-local"},
		"the same in IPv6":                    {webhook("https://[::ffff:169.254.169.254]/latest"), "link-local"},
		"the metadata server by name":         {webhook("https://metadata.google.internal/x"), "metadata"},
		"no port of the mail server":          {mail("smtp.example.com", "a@b.c", "a@b.c"), "spec.mail.server: "},
		"a loopback mail server":              {mail("127.0.0.1:25", "a@b.c", "a@b.c"), "spec.mail.server: loopback"},
		"a sender with a header":              {mail("smtp.example.com:587", "a@b.c\r\nBcc: x@y.z", "a@b.c"), "spec.mail.from: "},
		"a recipient with a name":             {mail("smtp.example.com:587", "a@b.c", "A <a@b.c>"), "spec.mail.to[0]: "},
		"no recipient":                        {mail("smtp.example.com:587", "a@b.c"), "spec.mail.to: missing"},
	} {
		t.Run(name, func(t *testing.T) {
			d, problems := digest.Load(&v1alpha1.RetentionDigest{Spec: test.spec})
			said := strings.Join(policy.Lines(problems), "\n")
			if (d == nil) != (test.want != "") || !strings.Contains(said, test.want) || strings.Contains(said, "secret@") {
				t.Errorf("problems %q, want %q", said, test.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"all fields":              {`{"metadata":{"name":"d","newField":1},"spec":{"schedule":"@daily"},"status":{"newField":1}}`, ""},
		"a misspelt field":        {`{"metadata":{"name":"d"},"spec":{"schedule":"@daily","namespace":["a"]}}`, "spec.namespace: unknown field"},
		"a field of another type": {`{"metadata":{"name":"d"},"spec":{"schedule":1}}`, "document: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := digest.Parse([]byte(test.text))
			if len(problems) > 0 != (test.want != "") || test.want != "" && !strings.Contains(problems[0].String(), test.want) {
				t.Errorf("problems %v, want %q", problems, test.want)
			}
		})
	}
}

func TestForbidden(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.1": false, "192.168.1.1": false, "fd00::1": false, "93.184.216.34": false, "2606:2800:220:1::1": false, "64:ff9b::5db8:d822": false,
		"127.0.0.1": true, "::1": true, "0.0.0.0": true, "::": true, "169.254.169.254": true, "fe80::1%eth0": true, "::ffff:127.0.0.1": true, "::ffff:100.100.100.200": true,
		"64:ff9b::a9fe:a9fe": true, "fd00:ec2::254": true, "100.100.100.200": true, "168.63.129.16": true, "224.0.0.1": true, "ff02::1": true,
	} {
		expect.Equal(t, address, want, digest.Forbidden(netip.MustParseAddr(address)))
	}
	expect.Equal(t, "no address", true, digest.Forbidden(netip.Addr{}))
}

// TestDue: a digest is due at the latest scheduled time that has passed since the last accepted one.
func TestDue(t *testing.T) {
	d := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.TimeZone = "Europe/Berlin" }))
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		expect.NoError(t, err)
		return parsed
	}
	for name, test := range map[string]struct{ last, now, want string }{
		"the first one after the creation":    {"", "2026-02-01T12:00:00Z", "2026-02-01T07:00:00Z"},
		"at its time":                         {"2026-02-28T07:00:00Z", "2026-03-01T07:00:00Z", "2026-03-01T07:00:00Z"},
		"a moment earlier":                    {"2026-02-28T07:00:00Z", "2026-03-01T06:59:59.999999999Z", ""},
		"accepted already":                    {"2026-03-01T07:00:00Z", "2026-03-01T09:00:00Z", ""},
		"several were missed":                 {"2026-02-20T07:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T07:00:00Z"},
		"after the change to daylight saving": {"2026-03-28T07:00:00Z", "2026-03-29T06:30:00Z", "2026-03-29T06:00:00Z"},
		"the last one is in the future":       {"2026-04-01T06:00:00Z", "2026-03-01T12:00:00Z", ""},
		"none since the creation":             {"", "2026-01-30T12:30:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.DigestStatus{}
			if test.last != "" {
				status.ScheduleTime = &metav1.Time{Time: at(test.last)}
			}
			got := d.Due(status, at(test.now))
			if test.want == "" && !got.IsZero() || test.want != "" && !got.Equal(at(test.want)) {
				t.Errorf("due at %s, want %q", got, test.want)
			}
		})
	}
	suspended := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Suspend = true }))
	expect.Equal(t, "suspended", true, suspended.Due(&v1alpha1.DigestStatus{}, now).IsZero())
}

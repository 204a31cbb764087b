// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/controllers/cloudevents"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// EventType is the type of the CloudEvents of digests.
const EventType = "io.sunset-k8s.digest.v1"

// The receivers truncate or reject longer texts: https://docs.slack.dev/changelog/2018-truncating-really-long-messages/ has 40,000
// characters, and https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/format-your-bot-messages 28 KB.
const (
	maxSlack = 30_000
	maxTeams = 20_000
)

// data is the data of a CloudEvent: the content, and the text of the template.
type data struct {
	*digest.Content
	Text string `json:"text"`
}

// messageOf encodes a digest in the format of its receiver.
func messageOf(d *digest.Digest, c *digest.Content) (m message, err error) {
	if m.text, err = d.Text(c); err != nil {
		return m, err
	}
	m.subject, m.contentType = "Sunset digest "+d.Name+": "+c.Summary(), "application/json"
	if d.Spec.Webhook == nil {
		return m, nil
	}
	switch d.Spec.Webhook.Format {
	case v1alpha1.DigestSlack:
		m.body, err = json.Marshal(map[string]string{"text": policy.Shorten(forSlack(m.text), maxSlack)})
	case v1alpha1.DigestTeams:
		m.body, err = json.Marshal(cardOf(policy.Shorten(m.text, maxTeams)))
	case v1alpha1.DigestText:
		if m.body = []byte(m.text); !json.Valid(m.body) {
			m.contentType = "text/plain; charset=utf-8"
		}
	default:
		e := cloudevents.New("sunset-k8s.io/retentiondigests/"+d.Name, idOf(d, c), EventType, c.Time, data{c, m.text})
		m.contentType = cloudevents.ContentType
		m.body, err = json.Marshal(e)
	}
	return m, err
}

// idOf identifies a digest. It is the same each time that the digest is sent.
func idOf(d *digest.Digest, c *digest.Content) string {
	return string(d.UID) + "-" + c.ScheduledTime.Format(time.RFC3339)
}

// forSlack escapes text, so that it has no links or mentions: https://docs.slack.dev/messaging/formatting-message-text.
func forSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// cardOf returns a message with an adaptive card, whose text has no links: https://adaptivecards.microsoft.com.
func cardOf(text string) any {
	text = strings.NewReplacer("[", `\[`, "\n", "\n\n").Replace(text)
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": map[string]any{
			"type": "AdaptiveCard", "version": "1.4", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
			"body": []any{map[string]any{"type": "TextBlock", "text": text, "wrap": true}},
		},
	}}}
}

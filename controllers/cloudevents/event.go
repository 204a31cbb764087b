// SPDX-License-Identifier: Apache-2.0

// Package cloudevents encodes CloudEvents 1.0 in structured JSON mode: https://github.com/cloudevents/spec. It writes only the
// attributes that Sunset uses, and reads none.
package cloudevents

import "time"

// ContentType is the content type of an Event over HTTP.
const ContentType = "application/cloudevents+json; charset=utf-8"

// Event is one event. A receiver can ignore events with a Source and an ID that it has seen before.
type Event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            any       `json:"data"`
}

// New returns an event with data that is encoded as JSON. It sets everything except the subject.
func New(source, id, eventType string, at time.Time, data any) Event {
	return Event{SpecVersion: "1.0", ID: id, Source: source, Type: eventType, Time: at.UTC(), DataContentType: "application/json", Data: data}
}

// SPDX-License-Identifier: Apache-2.0

// Package skew compares the clock of this process with the clock of the API server, by the Date header of its responses.
//
// The responses of a client pass through an Observer, and Clocks remembers if the clocks may differ by too much. The Date of a
// slow response does not count, because it says little about the clocks. The package sends no requests.
package skew

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Max is how far the clocks of Sunset's processes and the API server's clock may differ.
const Max = 5 * time.Second

var errNoDate = errors.New("clock skew is unknown: the API server's response has no Date header")

// Clocks records the clock skew that any response has shown, as long as the response may count. The zero value has no error. It is
// safe for concurrent use.
type Clocks struct {
	mu  sync.Mutex // reads run in parallel
	err error
	at  time.Time // when the response arrived
}

// Begin drops the error of a response that no longer counts.
func (c *Clocks) Begin(counts func(time.Time) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !counts(c.at) {
		c.err = nil
	}
}

func (c *Clocks) note(err error, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err, c.at = err, at
	}
}

// Err returns an error if the clocks may differ by more than 5 seconds, or if that is unknown.
func (c *Clocks) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Observer is a transport that compares the clocks by every response that comes within Timeout.
type Observer struct {
	Next    http.RoundTripper
	Clocks  *Clocks
	Now     func() time.Time
	Timeout time.Duration             // nothing relies on slower responses
	OnSkew  func(worst time.Duration) // called with the upper bound of the difference; may be nil
}

// RoundTrip implements http.RoundTripper.
func (o *Observer) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := o.Now()
	response, err := o.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	received := o.Now()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		o.Clocks.note(errNoDate, received)
		return response, nil
	}
	if received.Sub(sent) <= o.Timeout {
		worst := skew(date, sent, received)
		if o.OnSkew != nil {
			o.OnSkew(worst)
		}
		o.Clocks.note(check(worst), received)
	}
	return response, nil
}

// skew returns how far the server's clock may differ from ours at most. The server truncates a Date to seconds, and sets it at
// some time between sent and received: the worst case counts.
func skew(date, sent, received time.Time) time.Duration {
	return max(received.Sub(date), date.Add(time.Second).Sub(sent))
}

// check returns an error if the server's clock may differ from ours by more than Max.
func check(worst time.Duration) error {
	if worst > Max {
		return fmt.Errorf("clock skew: the clocks of the API server and of this node may differ by more than %s; synchronize both clocks, for example with NTP", Max)
	}
	return nil
}

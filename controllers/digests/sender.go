// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	stepTimeout  = 10 * time.Second // to connect, and to receive the head of a response
	sendTimeout  = 30 * time.Second // of an attempt
	maxHeaders   = 16 << 10         // of a response
	maxResponses = 256 << 10        // of an SMTP server to one mail, with those of TLS
	longestDelay = time.Hour        // that a receiver can ask for
)

// message is a digest in the form in which a receiver gets it.
type message struct {
	subject, text string // for mail
	body          []byte // for a webhook
	contentType   string
}

// laterError is an error of a receiver that asks for a delay.
type laterError struct {
	error
	after time.Duration
}

// sender sends messages. It keeps no connections.
type sender struct {
	secrets   secrets
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	proxy     func(*http.Request) (*url.URL, error)
	userAgent string
	now       func() time.Time
}

// dialer connects to no forbidden address, even if a name resolves to one.
func dialer() *net.Dialer {
	return &net.Dialer{Timeout: stepTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || digest.Forbidden(to.Addr()) {
			return errForbidden
		}
		return nil
	}}
}

// post sends a message to a webhook. The error does not contain the URL or the response, which may be secret.
func (s *sender) post(ctx context.Context, w *v1alpha1.DigestWebhook, m message) error {
	request, err := s.request(ctx, w, m)
	if err != nil {
		return err
	}
	config, err := tlsConfig(w.CABundle)
	if err != nil {
		return fmt.Errorf("spec.webhook.caBundle: %w", err)
	}
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: s.proxy, DialContext: s.dial, TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: stepTimeout, ResponseHeaderTimeout: stepTimeout, MaxResponseHeaderBytes: maxHeaders,
			OnProxyConnectResponse: checkProxy,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return errors.New("send to the webhook: " + failure(err, "the response is not HTTP, or its headers are too long"))
	}
	_ = response.Body.Close()
	if response.StatusCode/100 == 2 {
		return nil
	}
	return laterError{fmt.Errorf("the webhook responds with status %d, want 2xx", response.StatusCode), s.retryAfter(response)}
}

func (s *sender) request(ctx context.Context, w *v1alpha1.DigestWebhook, m message) (*http.Request, error) {
	to := w.URL
	if w.URLFrom != nil {
		var err error
		if to, err = s.secrets.value(ctx, w.URLFrom.Name, w.URLFrom.Key); err != nil {
			return nil, err
		}
		if err := digest.CheckURL(to); err != nil {
			return nil, fmt.Errorf("the URL in Secret %s: %w", w.URLFrom.Name, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(m.body))
	if err != nil {
		return nil, errors.New("the URL of the webhook is not valid")
	}
	request.Header.Set("Content-Type", m.contentType)
	request.Header.Set("User-Agent", s.userAgent)
	if from := w.AuthorizationFrom; from != nil {
		value, err := s.secrets.value(ctx, from.Name, from.Key)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", value)
	}
	return request, nil
}

// retryAfter is the delay that a response asks for, in seconds or until a time; 0 for none.
func (s *sender) retryAfter(r *http.Response) time.Duration {
	text := r.Header.Get("Retry-After")
	delay := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		delay = time.Duration(min(max(0, seconds), int(longestDelay/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		delay = at.Sub(s.now())
	}
	return min(max(0, delay), longestDelay)
}

// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

var errForbidden = errors.New("loopback, link-local and metadata addresses are not allowed")

// refusedError is the status with which a proxy responds.
type refusedError int

func (e refusedError) Error() string { return fmt.Sprintf("the proxy responds with status %d", int(e)) }

// checkProxy returns an error if a proxy does not connect, in place of the one of net/http, which quotes the proxy.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return refusedError(response.StatusCode)
	}
	return nil
}

// failure says why a request got no valid response. It has only texts of Sunset, because those of other packages may quote the response or
// the URL, which may be secret. other is the reason if the server responds with something else.
func failure(err error, other string) string {
	var (
		timeout   net.Error
		name      *net.DNSError
		number    syscall.Errno
		unknown   x509.UnknownAuthorityError
		host      x509.HostnameError
		untrusted *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		refused   refusedError
	)
	for _, own := range []error{errForbidden, errTooLong, errNoAuth} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it does not respond in time"
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &name):
		return "its name cannot be resolved"
	case errors.As(err, &number):
		return "the connection fails: " + number.Error()
	case errors.As(err, &unknown):
		return "certificate signed by unknown authority"
	case errors.As(err, &host):
		return "its certificate is valid for other names"
	case errors.As(err, &untrusted):
		return "its certificate is not valid"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closes the connection"
	default:
		return other
	}
}

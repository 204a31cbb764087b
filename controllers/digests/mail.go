// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// smtps is the port at which a connection begins with TLS (RFC 8314).
const smtps = "465"

// tlsConfig returns the configuration of a client that trusts a bundle, or the system if it is empty.
func tlsConfig(bundle []byte) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(bundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(bundle) {
			return nil, errors.New("no certificate in PEM")
		}
	}
	return config, nil
}

// mail sends a message over SMTP, always with TLS. The error does not contain the texts of responses.
func (s *sender) mail(ctx context.Context, to *v1alpha1.DigestMail, m message, id string) error {
	config, err := tlsConfig(to.CABundle)
	if err != nil {
		return fmt.Errorf("spec.mail.caBundle: %w", err)
	}
	host, port, _ := strings.Cut(to.Server, ":")
	config.ServerName = host
	auth, err := s.auth(ctx, to, host)
	if err != nil {
		return err
	}
	raw, err := s.dial(ctx, "tcp", to.Server)
	if err == nil {
		defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
		defer func() { _ = raw.Close() }()
		err = deliver(&bounded{Conn: raw, left: maxResponses}, config, port == smtps, auth, to, s.encode(to, m, id))
	}
	switch refused := (&textproto.Error{}); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("send to the SMTP server: it does not respond in time")
	case errors.As(err, &refused):
		return fmt.Errorf("send to the SMTP server: it responds with code %d", refused.Code)
	default:
		return errors.New("send to the SMTP server: " + failure(err, "the response is not SMTP"))
	}
}

// auth returns the credentials for a host; nil without credentials.
func (s *sender) auth(ctx context.Context, to *v1alpha1.DigestMail, host string) (smtp.Auth, error) {
	if to.CredentialsFrom == nil {
		return nil, nil
	}
	username, err := s.secrets.value(ctx, to.CredentialsFrom.Name, "username")
	if err != nil {
		return nil, err
	}
	password, err := s.secrets.value(ctx, to.CredentialsFrom.Name, "password")
	return smtp.PlainAuth("", username, password, host), err
}

// bounded is a connection that reads a limited number of bytes, because package smtp reads lines of any length.
type bounded struct {
	net.Conn
	left int
}

var (
	errTooLong = errors.New("its responses are too long")
	errNoAuth  = errors.New("it does not accept credentials (no AUTH)")
)

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.Conn.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// deliver sends one mail over a connection. Without an error, the server has accepted it.
func deliver(connection net.Conn, config *tls.Config, isTLS bool, auth smtp.Auth, to *v1alpha1.DigestMail, mail []byte) error {
	if isTLS {
		connection = tls.Client(connection, config)
	}
	client, err := smtp.NewClient(connection, config.ServerName)
	if err == nil && !isTLS {
		err = client.StartTLS(config)
	}
	if err != nil {
		return err
	}
	if auth != nil {
		if offered, _ := client.Extension("AUTH"); !offered {
			return errNoAuth
		}
		if err := client.Auth(auth); err != nil {
			return err
		}
	}
	if err := client.Mail(to.From); err != nil {
		return err
	}
	for _, address := range to.To {
		if err := client.Rcpt(address); err != nil {
			return err
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write(mail); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	_ = client.Quit()
	return nil
}

// encode returns a mail as text in UTF-8. Its Message-ID is the same each time that the digest is sent.
func (s *sender) encode(to *v1alpha1.DigestMail, m message, id string) []byte {
	_, domain, _ := strings.Cut(to.From, "@")
	var mail bytes.Buffer
	for _, header := range [][2]string{
		{"From", to.From}, {"To", strings.Join(to.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", m.subject)},
		{"Date", s.now().UTC().Format(time.RFC1123Z)}, {"Message-ID", "<" + strings.ReplaceAll(id, ":", ".") + "@" + domain + ">"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"}, {"Auto-Submitted", "auto-generated"},
	} {
		mail.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	mail.WriteString("\r\n")
	body := quotedprintable.NewWriter(&mail)
	_, _ = io.WriteString(body, m.text)
	_ = body.Close()
	return mail.Bytes()
}

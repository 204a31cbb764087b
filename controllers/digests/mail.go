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
	raw, err := s.dial(ctx, "tcp", to.Server)
	if err != nil {
		return fmt.Errorf("connect to the SMTP server: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	defer func() { _ = raw.Close() }()
	client, err := s.login(ctx, &bounded{Conn: raw, left: maxResponses}, to)
	if err == nil {
		err = deliver(client, to, s.encode(to, m, id))
	}
	if err != nil && ctx.Err() != nil {
		return errors.New("the SMTP server does not respond in time")
	}
	if refused := (&textproto.Error{}); errors.As(err, &refused) {
		return fmt.Errorf("the SMTP server responds with code %d", refused.Code)
	}
	if errors.As(err, new(textproto.ProtocolError)) {
		return errors.New("the response of the SMTP server is not SMTP")
	}
	return err
}

// bounded is a connection that reads a limited number of bytes, because package smtp reads lines of any length.
type bounded struct {
	net.Conn
	left int
}

var errTooLong = errors.New("the responses of the SMTP server are too long")

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.Conn.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// login begins TLS on a connection, and authenticates if there are credentials.
func (s *sender) login(ctx context.Context, raw net.Conn, to *v1alpha1.DigestMail) (*smtp.Client, error) {
	config, err := tlsConfig(to.CABundle)
	if err != nil {
		return nil, fmt.Errorf("spec.mail.caBundle: %w", err)
	}
	host, port, _ := strings.Cut(to.Server, ":")
	config.ServerName = host
	connection := raw
	if port == smtps {
		connection = tls.Client(raw, config)
	}
	client, err := smtp.NewClient(connection, host)
	if err == nil && port != smtps {
		err = client.StartTLS(config)
	}
	if err != nil || to.CredentialsFrom == nil {
		return client, err
	}
	username, err := s.secrets.value(ctx, to.CredentialsFrom.Name, "username")
	if err != nil {
		return nil, err
	}
	password, err := s.secrets.value(ctx, to.CredentialsFrom.Name, "password")
	if err != nil {
		return nil, err
	}
	return client, client.Auth(smtp.PlainAuth("", username, password, host))
}

// deliver sends one mail. Without an error, the server has accepted it.
func deliver(client *smtp.Client, to *v1alpha1.DigestMail, mail []byte) error {
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

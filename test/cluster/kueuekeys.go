// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"strings"
)

// kueueCA is the certificate of the authority of Kueue's webhooks. The names are those of the keys of the Secret and of the
// mounted files.
const kueueCA = "ca.crt"

// newKueueKeys creates keys that Kueue accepts as its own, so that it does not create others. They are an RSA authority
// named kueue-ca, and a certificate for the Service of the webhooks and, here, for 127.0.0.1.
func newKueueKeys() (map[string][]byte, error) {
	caKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	template := certTemplate(pkix.Name{CommonName: "kueue-ca"})
	template.DNSNames = []string{"kueue-ca"}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pair, err := kueuePair(ca, caKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		kueueCA:   pemBlock("CERTIFICATE", der),
		"ca.key":  pemBlock("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(caKey)),
		"tls.crt": pair.cert,
		"tls.key": pair.key,
	}, nil
}

func kueuePair(ca *x509.Certificate, caKey *rsa.PrivateKey) (keyPair, error) {
	name := strings.Join([]string{kueueService, KueueNamespace, "svc"}, ".")
	template := certTemplate(pkix.Name{CommonName: name})
	template.DNSNames = []string{name, kueueService}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	return keyPair{
		cert: pemBlock("CERTIFICATE", der),
		key:  pemBlock("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
	}, err
}

// servesAs checks that the server on a port has this name and a certificate of this authority.
func servesAs(ctx context.Context, port int, name string, ca []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return conn.Close()
}

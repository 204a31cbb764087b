// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Cloud providers serve credentials and settings of the machine at these addresses, besides the link-local ones.
var (
	metadata = sets.New(
		netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
		netip.MustParseAddr("168.63.129.16"),   // Azure
		netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
		netip.MustParseAddr("fd00:ec2::254"),   // Amazon EC2
		netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
	)
	nat64 = netip.MustParsePrefix("64:ff9b::/96") // has an IPv4 address in its last four bytes
)

// Forbidden reports whether no receiver may have an address: it leads to this Pod or node, or to the metadata server of a cloud
// provider. Private addresses are allowed, because receivers may run in the cluster.
func Forbidden(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return !a.IsValid() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || metadata.Has(a)
}

// CheckURL returns why a URL cannot be that of a receiver; nil if it can. The error does not contain the URL, which may be secret.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("it is not a URL such as https://receiver.example.com/path, or has a user")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	inCluster := strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
	if u.Scheme != "https" && (u.Scheme != "http" || !inCluster) {
		return fmt.Errorf("it must begin with https://, or with http:// for a Service of the cluster such as http://receiver.monitoring.svc")
	}
	if a, err := netip.ParseAddr(host); err == nil && Forbidden(a) || host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "metadata.google.internal" {
		return fmt.Errorf("loopback, link-local and metadata addresses are not allowed")
	}
	return nil
}

type report func(path, message, hint string)

func checkWebhook(w *v1alpha1.DigestWebhook, add report) {
	switch {
	case (w.URL == "") == (w.URLFrom == nil):
		add("spec.webhook", "either url or urlFrom must be set", "if the URL is secret, use urlFrom")
	case w.URL != "":
		if err := CheckURL(w.URL); err != nil {
			add("spec.webhook.url", err.Error(), "")
		}
	}
	switch w.Format {
	case "", v1alpha1.DigestCloudEvents, v1alpha1.DigestSlack, v1alpha1.DigestTeams, v1alpha1.DigestText:
	default:
		add("spec.webhook.format", fmt.Sprintf("%q is not supported", w.Format), "write CloudEvents, Slack, Teams or Text")
	}
}

var isAddress = regexp.MustCompile(`^[^\s<>@,;:"]+@[^\s<>@,;:"]+$`)

func checkMail(m *v1alpha1.DigestMail, add report) {
	host, port, _ := strings.Cut(m.Server, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	a, notAnIP := netip.ParseAddr(host)
	switch {
	case host == "" || err != nil || n == 0:
		add("spec.mail.server", fmt.Sprintf("%q is not a host and a port", m.Server), "write them as smtp.example.com:587")
	case notAnIP == nil && Forbidden(a), host == "localhost":
		add("spec.mail.server", "loopback, link-local and metadata addresses are not allowed", "")
	}
	if !isAddress.MatchString(m.From) {
		add("spec.mail.from", fmt.Sprintf("%q is not an address", m.From), "write it as sunset@example.com, without a name")
	}
	if len(m.To) == 0 {
		add("spec.mail.to", "missing", "")
	}
	for i, to := range m.To {
		if !isAddress.MatchString(to) {
			add(fmt.Sprintf("spec.mail.to[%d]", i), fmt.Sprintf("%q is not an address", to), "write it as team@example.com, without a name")
		}
	}
}

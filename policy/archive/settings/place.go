// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// Place is where an archive has its objects: a bucket and a prefix. URLs with other parameters or another spelling can name the same
// one.
type Place struct {
	store   string // scheme, endpoint and bucket; the text of a URL that is not valid
	account string // of azblob; empty if only the credentials name it
	prefix  string // without / at its ends
}

// PlaceOf returns the Place of a URL.
func PlaceOf(text string) Place {
	u, err := ParseURL(text)
	if err != nil {
		return Place{store: text}
	}
	q, prefix := u.Query(), strings.Trim(u.Path, "/")
	if u.Scheme == "file" {
		prefix = strings.Trim(path.Clean(u.Path), "/")
	}
	return Place{store: u.Scheme + "://" + endpointOf(q.Get("endpoint")) + "/" + u.Host, account: q.Get("storage_account"), prefix: prefix}
}

// endpointOf returns the host and port of an endpoint; empty for AWS, where names of buckets are unique.
func endpointOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return strings.ToLower(strings.Trim(text, "/"))
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") {
		return ""
	}
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return host
	}
	return host + " " + port // only to compare
}

// Overlaps reports whether archives at both would have objects of each other below their prefix. It may be true in doubt: the account
// of azblob can be unknown.
func (p Place) Overlaps(o Place) bool {
	known := p.account != "" && o.account != ""
	return p.store == o.store && (!known || p.account == o.account) && (p.includes(o) || o.includes(p))
}

func (p Place) includes(o Place) bool {
	return p.prefix == "" || strings.HasPrefix(o.prefix+"/", p.prefix+"/")
}

// Shared is the problem of a RetentionArchive whose Place overlaps that of an older one.
func Shared(older string) policy.Problem {
	return policy.Problem{
		Path: "spec.url", Message: fmt.Sprintf("RetentionArchive %q has the same bucket, and one prefix includes the other, so each would delete records of the other", older),
		Hint: "delete this RetentionArchive, and create it with another prefix or bucket",
	}
}

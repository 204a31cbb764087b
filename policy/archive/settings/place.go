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
// one: compare with ==. A prefix that begins with another one is another place, because the names of all objects begin with the
// prefix and a fixed word.
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

// SharedPlaceProblem is the problem of a RetentionArchive whose Place is that of an older one.
func SharedPlaceProblem(older string) policy.Problem {
	return policy.Problem{
		Path: "spec.url", Message: fmt.Sprintf("RetentionArchive %q has the same bucket and prefix, so each would delete records of the other", older),
		Hint: "delete this RetentionArchive, and create it with another prefix or bucket",
	}
}

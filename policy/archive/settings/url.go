// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// parameters are those of the URLs of each scheme.
var parameters = map[string][]string{
	"s3": {"region", "endpoint", "use_path_style", "role", "ssetype", "kmskeyid", "anonymous",
		"dualstack", "fips", "hostname_immutable", "request_checksum_calculation", "response_checksum_validation"},
	"gs":     {"endpoint", "anonymous"},
	"azblob": {"storage_account", "domain", "protocol", "localemu"},
	"file":   nil,
}

// switches are the parameters that are true or false.
var switches = []string{"use_path_style", "anonymous", "dualstack", "fips", "hostname_immutable", "localemu"}

// ParseURL reads the URL of a store. The error says what is wrong, without the URL, since it may have a password.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it cannot be read; write one such as s3://BUCKET/PREFIX?region=REGION")
	}
	_, known := parameters[u.Scheme]
	switch {
	case !known:
		return nil, fmt.Errorf("it has the scheme %q; use s3, gs, azblob or file", u.Scheme)
	case u.User != nil:
		return nil, errors.New("it has a user; write credentials into a Secret")
	case u.Fragment != "" || u.Opaque != "":
		return nil, fmt.Errorf("it has a fragment or no //; it must begin with %s://", u.Scheme)
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return nil, errors.New("it names no absolute path; write file:///DIRECTORY")
	case u.Scheme != "file" && u.Host == "":
		return nil, fmt.Errorf("it names no bucket; write %s://BUCKET/PREFIX", u.Scheme)
	}
	return u, checkParameters(u)
}

func checkParameters(u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("its parameters cannot be read; write ?NAME=VALUE&NAME=VALUE")
	}
	has := parameters[u.Scheme]
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if len(has) == 0 {
			return fmt.Errorf("it has the parameter %q, and %s has none", name, u.Scheme)
		}
		if !slices.Contains(has, name) {
			return fmt.Errorf("it has the parameter %q, and %s has only: %s", name, u.Scheme, strings.Join(has, ", "))
		}
		if _, err := strconv.ParseBool(q.Get(name)); err != nil && slices.Contains(switches, name) {
			return fmt.Errorf("its parameter %s is neither true nor false", name)
		}
	}
	return nil
}

// checkURL checks the URL together with the credentials.
func checkURL(s v1alpha1.ArchiveSpec) error {
	u, err := ParseURL(s.URL)
	switch {
	case err != nil:
		return err
	case s.Credentials != nil && u.Query().Has("role"):
		return errors.New("its role is assumed with the identity of the Pod; remove the parameter role, or spec.credentials")
	case s.Credentials == nil && u.Scheme == "azblob" && u.Query().Get("storage_account") == "":
		return errors.New("it has no storage_account; write azblob://CONTAINER/PREFIX?storage_account=NAME")
	}
	return nil
}

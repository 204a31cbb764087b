// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy/archive/settings"
)

func TestSamePlaces(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"other parameters":            {"s3://b/p?region=eu-central-1", "s3://b/p/?region=us-east-1&use_path_style=true", true},
		"an endpoint of AWS":          {"s3://b/p", "s3://b/p?endpoint=https://s3.eu-central-1.amazonaws.com", true},
		"another spelling":            {"s3://b?endpoint=https://Minio.example.com/", "s3://b?endpoint=https://minio.example.com:443", true},
		"another endpoint":            {"s3://b?endpoint=https://one.example.com", "s3://b?endpoint=https://two.example.com", false},
		"another port":                {"s3://b?endpoint=http://minio:9000", "s3://b?endpoint=http://minio:9001", false},
		"one prefix in the other":     {"s3://b", "s3://b/cluster-1", false},
		"deeper":                      {"gs://b/x/y", "gs://b/x", false},
		"a name that begins the same": {"gs://b/cluster-1", "gs://b/cluster-10", false},
		"another bucket":              {"s3://b/p", "s3://c/p", false},
		"another scheme":              {"s3://b/p", "gs://b/p", false},
		"a directory":                 {"file:///var/archive", "file:///var//x/../archive/", true},
		"another directory":           {"file:///var/archive", "file:///var/archives", false},
		"another account":             {"azblob://c/p?storage_account=a", "azblob://c/p?storage_account=b", false},
		"an account in the Secret":    {"azblob://c/p?storage_account=a", "azblob://c/p", false},
		"not valid, the same":         {"ftp://b", "ftp://b", true},
		"not valid":                   {"ftp://b", "ftp://c", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := settings.PlaceOf(test.a), settings.PlaceOf(test.b)
			if (a == b) != test.want {
				t.Errorf("%s and %s: want %t", test.a, test.b, test.want)
			}
		})
	}
}

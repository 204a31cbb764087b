// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLoad(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	public := key.Recipient().String()
	for name, test := range map[string]struct {
		spec v1alpha1.ArchiveSpec
		want string // of the problem; empty for none
	}{
		"nothing":                     {v1alpha1.ArchiveSpec{}, ""},
		"a day":                       {v1alpha1.ArchiveSpec{Retain: "1d"}, ""},
		"less than a day":             {v1alpha1.ArchiveSpec{Retain: "23h59m"}, "spec.retain: it is shorter than a day (write 1d or more)"},
		"no duration":                 {v1alpha1.ArchiveSpec{Retain: "90x"}, "spec.retain: "},
		"a hold on a month":           {v1alpha1.ArchiveSpec{LegalHolds: []string{"", "segments/2026/11/"}}, ""},
		"a hold with the prefix":      {v1alpha1.ArchiveSpec{LegalHolds: []string{"segments/", "cluster-1/segments/"}}, `spec.legalHolds[1]: no name of an object begins with "cluster-1/segments/"`},
		"a hold with dashes":          {v1alpha1.ArchiveSpec{LegalHolds: []string{"segments/2026-11"}}, "spec.legalHolds[0]: no name"},
		"a public key":                {recipients(public), ""},
		"no key":                      {recipients("x"), "spec.encryption.recipients[0]: it is not a public key of age"},
		"a key with a typing error":   {recipients(public, public[:len(public)-1]+"b"), "spec.encryption.recipients[1]: it is not a public key"},
		"a private key":               {recipients(key.String()), "spec.encryption.recipients[0]: it is not a public key"},
		"two keys in one":             {recipients(public + "\n" + public), "spec.encryption.recipients[0]: it is not a public key"},
		"a key of SSH":                {recipients("ssh-ed25519 AAAA"), "spec.encryption.recipients[0]: it is not a public key"},
		"a key that is empty":         {recipients(""), "spec.encryption.recipients[0]: it is not a public key"},
		"a key that is a white space": {recipients("  "), "spec.encryption.recipients[0]: it is not a public key"},
	} {
		t.Run(name, func(t *testing.T) {
			read, problems := settings.Load(test.spec)
			text := strings.Join(policy.Lines(problems), "\n")
			if (text == "") != (test.want == "") || !strings.Contains(text, test.want) || strings.Contains(text, key.String()) {
				t.Errorf("problems %q, want %q and no private key", text, test.want)
			}
			if e := test.spec.Encryption; e != nil && text == "" {
				expect.Equal(t, "recipients", len(e.Recipients), len(read.Recipients))
			}
		})
	}
}

func recipients(texts ...string) v1alpha1.ArchiveSpec {
	return v1alpha1.ArchiveSpec{Encryption: &v1alpha1.ArchiveEncryption{Recipients: texts}}
}

// TestHoldsFitTheNames: the names that an archive really has, and each of their prefixes, are valid holds.
func TestHoldsFitTheNames(t *testing.T) {
	b := archive.NewBuilder()
	_, err := b.Add(audit.Object{APIVersion: "v1", Kind: "ConfigMap", Name: "cm", UID: "u", ResourceVersion: "7"},
		archive.Record{Object: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm","uid":"u","resourceVersion":"7"}}`)})
	expect.NoError(t, err)
	s, err := b.Seal(time.Date(2026, 11, 27, 2, 15, 0, 0, time.UTC))
	expect.NoError(t, err)
	for _, name := range []string{s.Name, strings.Replace(s.Name, archive.SegmentPrefix, archive.IndexPrefix, 1), archive.ParquetPrefix + "month=2026-11/20261127-1of2"} {
		for n := range len(name) + 1 {
			if _, problems := settings.Load(v1alpha1.ArchiveSpec{LegalHolds: []string{name[:n]}}); len(problems) > 0 {
				t.Fatal(problems)
			}
		}
	}
}

func TestParse(t *testing.T) {
	const private = "super-secret-value"
	for url, want := range map[string]string{
		"s3://bucket/prefix?region=eu-central-1&use_path_style=true": "",
		"gs://bucket?anonymous=true":                                 "",
		"azblob://container?storage_account=name":                    "",
		"file:///var/archive":                                        "",
		"bucket":                                                     `it has the scheme ""; use s3, gs, azblob or file`,
		"s3://bucket?regoin=eu-central-1":                            `it has the parameter "regoin", and s3 has only: region, endpoint`,
		"s3://bucket?profile=admin":                                  `it has the parameter "profile"`,
		"s3://bucket?use_path_style=maybe":                           "its parameter use_path_style is neither true nor false",
		"s3://bucket?fips":                                           "its parameter fips is neither true nor false",
		"s3://bucket?a;b":                                            "its parameters cannot be read",
		"s3:///prefix":                                               "it names no bucket",
		"s3://user:" + private + "@bucket":                           "it has a user",
		"s3://user:" + private + "%zz@bucket":                        "it cannot be read",
		"azblob://container":                                         "it has no storage_account",
		"file:///var/archive?create_dir=true":                        `it has the parameter "create_dir", and file has none`,
		"file://./archive":                                           "it names no absolute path",
	} {
		_, problems := settings.Parse([]byte(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionArchive","metadata":{"name":"history"},"spec":{"url":"` + url + `"}}`))
		text := strings.Join(policy.Lines(problems), "\n")
		if want != "" && !strings.HasPrefix(text, "spec.url: "+want) || want == "" && text != "" || strings.Contains(text, private) {
			t.Errorf("%s: problems %q, want %q and no secret", url, text, want)
		}
	}
	_, problems := settings.Parse([]byte(`{"spec":{"url":"s3://bucket?role=arn:aws:iam::1:role/r","credentials":{"namespace":"a","name":"b"},"encrypted":true}}`))
	expect.Equal(t, "problems", []string{
		"spec.encrypted: unknown field",
		"spec.url: its role is assumed with the identity of the Pod; remove the parameter role, or spec.credentials",
	}, policy.Lines(problems))
}

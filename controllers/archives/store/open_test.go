// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	accessKey = "AWS_ACCESS_KEY_ID"
	secretKey = "AWS_SECRET_ACCESS_KEY"
	google    = "GOOGLE_APPLICATION_CREDENTIALS"
	account   = "AZURE_STORAGE_ACCOUNT"
	azureKey  = "AZURE_STORAGE_KEY"
	azureSAS  = "AZURE_STORAGE_SAS_TOKEN"
	private   = "super-secret-value"
)

func data(secret map[string]string) map[string][]byte {
	all := map[string][]byte{}
	for key, value := range secret {
		all[key] = []byte(value)
	}
	return all
}

// TestOpenSendsNoRequest: with credentials, Open works without a network.
func TestOpenSendsNoRequest(t *testing.T) {
	for url, secret := range map[string]map[string]string{
		"s3://bucket?region=us-east-1&endpoint=https://s3.example.com&use_path_style=true": {accessKey: "A", secretKey: private, "AWS_SESSION_TOKEN": "x"},
		"s3://bucket/prefix?region=eu-central-1&ssetype=aws:kms&kmskeyid=x":                {accessKey: "AKIA", secretKey: private},
		"azblob://container/prefix?storage_account=name":                                   {azureKey: "c2VjcmV0"},
		"azblob://container?domain=127.0.0.1:1&protocol=http":                              {account: "name", azureSAS: "?sv=1&sig=" + private},
		"gs://bucket?anonymous=true&endpoint=http://127.0.0.1:1":                           {},
	} {
		s, err := store.Open(t.Context(), url, data(secret))
		expect.NoError(t, err)
		expect.NoError(t, s.Close())
	}
}

func TestOpenRefuses(t *testing.T) {
	aws := map[string]string{accessKey: "AKIA", secretKey: private}
	for name, test := range map[string]struct {
		url    string
		secret map[string]string
		want   string
	}{
		"S3 with half of the keys":           {"s3://bucket", map[string]string{secretKey: private}, "the Secret has no AWS_ACCESS_KEY_ID or no AWS_SECRET_ACCESS_KEY"},
		"S3 with an empty key":               {"s3://bucket", map[string]string{accessKey: " \n", secretKey: private}, "the Secret has no AWS_ACCESS_KEY_ID or no AWS_SECRET_ACCESS_KEY"},
		"S3 with another key":                {"s3://bucket", map[string]string{accessKey: "A", secretKey: private, "password": private}, `key "password"`},
		"S3 with a profile of the node":      {"s3://bucket?profile=admin", nil, `parameter "profile"`},
		"Google with a file of keys":         {"gs://bucket?private_key_path=/etc/key", nil, `parameter "private_key_path"`},
		"Google with keys of AWS":            {"gs://bucket", aws, "gs uses only"},
		"Azure with an account alone":        {"azblob://container", map[string]string{account: "name"}, "the Secret has no AZURE_STORAGE_KEY and no AZURE_STORAGE_SAS_TOKEN"},
		"a directory with credentials":       {"file:///var/archive", aws, "file uses only"},
		"a directory with a parameter":       {"file:///var/archive?create_dir=true", nil, `parameter "create_dir"`},
		"a relative directory":               {"file://./archive", nil, "no absolute path"},
		"a directory without slashes":        {"file:archive", nil, "no //"},
		"no bucket":                          {"s3:///prefix", nil, "names no bucket"},
		"another scheme":                     {"https://bucket", nil, "use s3, gs, azblob or file"},
		"no scheme":                          {"bucket", nil, "use s3, gs, azblob or file"},
		"a user":                             {"s3://user:" + private + "@bucket", nil, "write credentials into a Secret"},
		"a fragment":                         {"s3://bucket#x", nil, "fragment"},
		"parameters that cannot be read":     {"s3://bucket?a;b", nil, "cannot be read"},
		"a URL that cannot be read":          {"s3://user:" + private + "%zz@bucket", nil, "cannot be read"},
		"a directory that does not exist":    {"file:///does/not/exist", nil, "no such file"},
		"no storage account":                 {"azblob://container", map[string]string{azureKey: "c2VjcmV0"}, "storage_account"},
		"an Azure key that is not base64":    {"azblob://container?storage_account=a", map[string]string{azureKey: private}, azureKey},
		"a Google key that is not JSON":      {"gs://bucket", map[string]string{google: private}, google},
		"a Google file that names a program": {"gs://bucket", map[string]string{google: `{"type":"external_account","credential_source":{"executable":{"command":"x"}}}`}, google},
		"a role with a Secret":               {"s3://bucket?role=arn:aws:iam::1:role/r", map[string]string{accessKey: "A", secretKey: private}, "remove role"},
		"a word that is not true or false":   {"s3://bucket?use_path_style=maybe", nil, "use_path_style"},
	} {
		_, err := store.Open(t.Context(), test.url, data(test.secret))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), private) {
			t.Errorf("%s: error %v, want %q and no secret", name, err, test.want)
		}
	}
}

// TestErrorsHaveNoSignature: a store of Azure that cannot be reached does not print the signature that is part of its URL.
func TestErrorsHaveNoSignature(t *testing.T) {
	s, err := store.Open(t.Context(), "azblob://container?domain=127.0.0.1:1&protocol=http", data(map[string]string{account: "name", azureSAS: "sv=1&sig=" + private}))
	expect.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Delete(ctx, "a"); err == nil || strings.Contains(err.Error(), private) {
		t.Errorf("error %v", err)
	}
}

// TestFiles: an archive in a directory, from the first record to the restore of its bytes, without other files in the directory.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), "file://"+dir, nil)
	expect.NoError(t, err)
	expect.Equal(t, "probe", store.Probe{}, s.Probe(t.Context()))
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	o := audit.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a", UID: "u", ResourceVersion: "1"}
	object := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"1"},"data":{"k":"<v>"}}`
	b, x := archive.NewBuilder(), archive.NewIndexer(s)
	_, err = b.Add(o, archive.Record{ArchivedAt: at, Object: []byte(object)})
	expect.NoError(t, err)
	segment, err := b.Seal(at)
	expect.NoError(t, err)
	expect.NoError(t, s.Write(t.Context(), segment.Name, segment.Data))
	expect.NoError(t, s.Write(t.Context(), segment.Name, segment.Data))
	x.Add(segment)
	expect.NoError(t, x.Flush(t.Context(), at))
	x.Finish(segment.Name, 0, archive.Deleted, at)
	expect.NoError(t, x.Flush(t.Context(), at.Add(time.Second)))

	r := &archive.Reader{Bucket: s}
	n := 0
	metas, err := r.Find(t.Context(), archive.Query{Until: at.Add(time.Hour)})
	expect.NoError(t, err)
	for f, err := range r.Each(t.Context(), metas) {
		expect.NoError(t, err)
		expect.Equal(t, "object", object, string(f.Record.Object))
		expect.Equal(t, "result", archive.Deleted, f.Result)
		n++
	}
	expect.Equal(t, "records", 1, n)
	v, err := r.Verify(t.Context(), archive.Retention{}, time.Now(), nil)
	expect.NoError(t, err)
	expect.Equal(t, "OK", true, v.OK() && len(v.Unrelated) == 0)
	expect.Equal(t, "files", 2, countFiles(t, dir))
}

func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	}))
	return n
}

// TestFilesReadOnly: a directory that cannot be written is an error of the probe.
func TestFilesReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	expect.NoError(t, os.Chmod(dir, 0o500))
	s, err := store.Open(t.Context(), "file://"+dir, nil)
	expect.NoError(t, err)
	if p := s.Probe(t.Context()); p.Write == nil {
		t.Error("it can be written")
	}
}

// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// TestObjectLock: a bucket that keeps objects for a day refuses to delete them, and says so. Everything else works.
func TestObjectLock(t *testing.T) {
	s := stores.S3(t)
	locked := lockedBucket(t, s)
	b := openedAt(t, strings.Replace(s.URL("x"), "://"+stores.Bucket+"/", "://"+locked+"/", 1), s.Credentials)
	expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("x")))
	if err := b.Delete(t.Context(), "segments/a"); !errors.Is(err, archive.ErrRefused) {
		t.Errorf("deleting returned %v", err)
	}
	expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("x"))) // a retry
	if err := b.Write(t.Context(), "segments/a", []byte("y")); err == nil {
		t.Error("an object was replaced")
	}
	got, err := read(t, b, "segments/a")
	expect.NoError(t, err)
	expect.Equal(t, "content", "x", string(got))
	expect.Equal(t, "objects", []string{"segments/a"}, names(t, b, "segments/"))
	p := b.Probe(t.Context())
	expect.NoError(t, errors.Join(p.Write, p.Read))
	if !errors.Is(p.Delete, archive.ErrRefused) {
		t.Errorf("the probe reports %v for the deletion", p.Delete)
	}
}

// lockedBucket creates a bucket that keeps all objects for a day.
func lockedBucket(t *testing.T, s *stores.Store) string {
	t.Helper()
	client := s3.New(s3.Options{
		Region: stores.Region, BaseEndpoint: ptr.To(s.Address()), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(stores.AccessKey, stores.SecretKey, ""),
	})
	const name = "locked"
	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: ptr.To(name), ObjectLockEnabledForBucket: ptr.To(true)})
	expect.NoError(t, err)
	_, err = client.PutObjectLockConfiguration(t.Context(), &s3.PutObjectLockConfigurationInput{
		Bucket: ptr.To(name),
		ObjectLockConfiguration: &types.ObjectLockConfiguration{
			ObjectLockEnabled: types.ObjectLockEnabledEnabled,
			Rule:              &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{Mode: types.ObjectLockRetentionModeCompliance, Days: ptr.To[int32](1)}},
		},
	})
	expect.NoError(t, err)
	return name
}

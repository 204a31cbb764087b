// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/scratch"
)

// Bucket is the name of the bucket of each Store.
const Bucket = "archive"

// Store is an object store with one bucket. Its methods are not safe for concurrent use.
type Store struct {
	Dir         string            // of the objects: each is a file with the path of its name; empty if they are elsewhere
	Credentials map[string][]byte // the data of a Secret; nil if none are needed

	scheme, parameters string
	address            string // http://127.0.0.1:PORT; empty for a directory
	scratch            *scratch.Dir
	program            *cluster.Program
	ready              func(context.Context) error
}

// Open starts versitygw, an S3 server, in a temporary directory. It runs until Close.
func Open(ctx context.Context) (*Store, error) {
	return open(ctx, cluster.VersityGW, s3Store)
}

// OpenGCS starts fake-gcs-server, which has its objects in memory. It runs until Close.
func OpenGCS(ctx context.Context) (*Store, error) {
	return open(ctx, cluster.FakeGCS, gcsStore)
}

// S3 is Open until the test ends.
func S3(t testing.TB) *Store { t.Helper(); return until(t, Open) }

// GCS is OpenGCS until the test ends.
func GCS(t testing.TB) *Store { t.Helper(); return until(t, OpenGCS) }

// Files is a directory that exists until the test ends.
func Files(t testing.TB) *Store {
	t.Helper()
	return &Store{Dir: t.TempDir(), scheme: "file"}
}

func until(t testing.TB, open func(context.Context) (*Store, error)) *Store {
	t.Helper()
	s, err := open(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open starts a program that serves a directory in which it has a bucket.
func open(ctx context.Context, component cluster.Component, setup func(s *Store, root string, port int)) (s *Store, err error) {
	paths, err := cluster.Binaries(ctx, os.Stderr, component)
	if err != nil {
		return nil, err
	}
	s = &Store{}
	if s.scratch, err = scratch.New(os.TempDir(), "sunset-store-*"); err != nil {
		return nil, err
	}
	port, err := cluster.FreePort()
	if err == nil {
		err = os.MkdirAll(filepath.Join(s.scratch.Path("root"), Bucket), 0o755)
	}
	if err == nil {
		s.address = fmt.Sprintf("http://127.0.0.1:%d", port)
		s.program = &cluster.Program{Path: paths[component], Dir: s.scratch.Path("."), Log: s.scratch.Path("log")}
		setup(s, s.scratch.Path("root"), port)
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.scratch.Remove())
	}
	return s, nil
}

// Access is the key of S3 stores, for tests that need other requests than an archive.
const (
	AccessKey = "sunset"
	SecretKey = "sunset-sunset"
	Region    = "us-east-1"
)

func s3Store(s *Store, root string, port int) {
	s.scheme, s.parameters = "s3", "&use_path_style=true&region="+Region
	s.Dir = filepath.Join(root, Bucket)
	s.Credentials = map[string][]byte{"AWS_ACCESS_KEY_ID": []byte(AccessKey), "AWS_SECRET_ACCESS_KEY": []byte(SecretKey)}
	s.program.Env = []string{"ROOT_ACCESS_KEY_ID=" + AccessKey, "ROOT_SECRET_ACCESS_KEY=" + SecretKey}
	s.program.Args = []string{fmt.Sprintf("--port=127.0.0.1:%d", port), "--region=" + Region, "--keep-alive", "--quiet", "posix", root}
	s.ready = s.serves(func(r *http.Response) bool { return strings.Contains(r.Header.Get("Server"), "VERSITYGW") })
}

func gcsStore(s *Store, root string, port int) {
	s.scheme, s.parameters = "gs", "&anonymous=true"
	s.program.Args = []string{"-scheme=http", "-host=127.0.0.1", fmt.Sprintf("-port=%d", port), fmt.Sprintf("-public-host=127.0.0.1:%d", port),
		"-backend=memory", "-data=" + root, "-log-level=warn"}
	s.ready = s.serves(func(r *http.Response) bool { return r.StatusCode == http.StatusOK })
}

// serves returns a function that asks the store for its buckets, and checks the answer.
func (s *Store) serves(right func(*http.Response) bool) func(context.Context) error {
	at := s.address + map[string]string{"s3": "/", "gs": "/storage/v1/b?project=x"}[s.scheme]
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if !right(answer) {
			return fmt.Errorf("%s is answered %s, by another server or not yet", at, answer.Status)
		}
		return nil
	}
}

// Start starts the store again after Kill. It has the objects that it had, unless they were in memory.
func (s *Store) Start(ctx context.Context) error { return s.program.Start(ctx, s.ready) }

// PID is the process id of the store. It must not be a directory.
func (s *Store) PID() int { return s.program.PID() }

// Kill ends the store like a crash. Its clients get no connection.
func (s *Store) Kill() { s.program.Kill() }

// Close ends the store and deletes its objects.
func (s *Store) Close() error {
	crashed := s.program.Crashed()
	s.program.Stop()
	return errors.Join(crashed, s.scratch.Remove())
}

// Address is where the store listens, as http://HOST:PORT; empty for a directory.
func (s *Store) Address() string { return s.address }

// URL is the URL of a prefix of the bucket, for a RetentionArchive.
func (s *Store) URL(prefix string) string { return s.URLAt(s.address, prefix) }

// URLAt is URL at another address, such as that of a Proxy.
func (s *Store) URLAt(address, prefix string) string {
	if s.scheme == "file" {
		return "file://" + filepath.ToSlash(s.Dir)
	}
	return fmt.Sprintf("%s://%s/%s?endpoint=%s%s", s.scheme, Bucket, prefix, url.QueryEscape(address), s.parameters)
}

// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"gocloud.dev/blob/fileblob"
)

// openFiles opens a directory. It must exist, so that a volume that is not mounted is an error.
func openFiles(u *url.URL) (*Store, error) {
	dir := filepath.FromSlash(u.Path)
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{DirFileMode: 0o750, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, err
	}
	return &Store{bucket: bucket, dir: dir}, nil
}

// sync has a file, and the directories that lead to it, written to the disk. fileblob does not do it.
func (s *Store) sync(name string) error {
	if s.dir == "" {
		return nil
	}
	for path := filepath.FromSlash(name); ; path = filepath.Dir(path) {
		if err := syncPath(filepath.Join(s.dir, path)); err != nil {
			return err
		}
		if path == "." {
			return nil
		}
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the comparison after the write says so
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

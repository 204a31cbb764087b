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

// sync has a file, and the directories that lead to it, written to the disk. fileblob does not do it. A missing file is not an
// error here: the comparison after the write reports it.
func (s *Store) sync(name string) error {
	for path := filepath.FromSlash(name); s.dir != ""; path = filepath.Dir(path) {
		f, err := os.Open(filepath.Join(s.dir, path))
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) || path == "." {
			return err
		}
	}
	return nil
}

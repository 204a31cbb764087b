// SPDX-License-Identifier: Apache-2.0

package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unused is how long a directory of the cache stays after its last use.
const unused = 7 * 24 * time.Hour

// cached returns a directory of the cache whose name contains the hash of its inputs. If there is none, fill writes its files.
func cached(name string, in *inputs, fill func(dir string) error) (string, error) {
	if in.err != nil {
		return "", fmt.Errorf("build %s: %w", name, in.err)
	}
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name+"-"+hex.EncodeToString(in.hash.Sum(nil))[:16])
	now := time.Now()
	if os.Chtimes(dir, now, now) == nil {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(root, name+"-*.new")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := fill(temp); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	if err := os.Rename(temp, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process has built it
		return "", err
	}
	return dir, forget(root, now.Add(-unused))
}

func cacheRoot() (string, error) {
	if dir := os.Getenv("SUNSET_CACHE"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "site"))
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "sunset", "site"), err
}

// forget removes the directories that were last used before a time.
func forget(root string, before time.Time) error {
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		if info, gone := entry.Info(); gone == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return err
}

// inputs is a hash of everything that a build reads.
type inputs struct {
	hash hash.Hash
	err  error
}

// hashOf returns the hash of values, and of the names and contents of files below root.
func hashOf(root string, files []string, values ...any) *inputs {
	in := &inputs{hash: sha256.New()}
	_, _ = fmt.Fprintf(in.hash, "%q\n", fmt.Sprint(values...))
	for _, file := range slices.Sorted(slices.Values(files)) {
		text, err := os.ReadFile(filepath.Join(root, file))
		in.err = errors.Join(in.err, err)
		_, _ = fmt.Fprintf(in.hash, "%q %d\n%s", file, len(text), text)
	}
	return in
}

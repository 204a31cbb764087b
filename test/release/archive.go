package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"
)

// pack writes files into one tar.gz without their folders. The first is the program. The same files at the same time
// produce the same archive.
func pack(to io.Writer, at time.Time, files ...string) error {
	compressed := gzip.NewWriter(to)
	archive := tar.NewWriter(compressed)
	for i, name := range files {
		mode := int64(0o644)
		if i == 0 {
			mode = 0o755
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.Base(name), Mode: mode, Size: int64(len(text)), ModTime: at, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// checksum returns the SHA-256 of a file, in hexadecimal digits.
func checksum(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"io"
	"os"
)

const tailLines = 30

// lastLines returns the last thirty lines of text.
func lastLines(text []byte) []byte {
	text = bytes.TrimRight(text, "\n")
	lines := bytes.Split(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n"))
}

// readFrom returns the content of a file from offset on, at most its last 64 KiB. For an unreadable file it returns
// nothing: the text only explains another error.
func readFrom(path string, offset int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	offset = max(offset, size-64<<10)
	text, _ := io.ReadAll(io.NewSectionReader(f, offset, size-offset))
	return text
}

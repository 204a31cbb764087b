// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// source reads a file either by lines or as a stream of bytes, and counts lines.
type source struct {
	file    *bufio.Reader
	pending []byte // bytes that were given back; read them first
	lines   int    // number of line ends that were read
}

const bufferSize = 64 << 10

func newSource(r io.Reader) *source { return &source{file: bufio.NewReaderSize(r, bufferSize)} }

// Read implements io.Reader.
func (s *source) Read(p []byte) (n int, err error) {
	if len(s.pending) > 0 {
		n = copy(p, s.pending)
		s.pending = s.pending[n:]
	} else {
		n, err = s.file.Read(p)
	}
	s.lines += bytes.Count(p[:n], newline)
	return n, err
}

var newline = []byte("\n")

// giveBack returns bytes to the source, so that the next read returns them again.
func (s *source) giveBack(p []byte) {
	s.pending = append(bytes.Clone(p), s.pending...)
	s.lines -= bytes.Count(p, newline)
}

// line reads one line with its line end. It is empty at the end of the file.
func (s *source) line() ([]byte, error) {
	var line []byte
	var err error
	if end := bytes.IndexByte(s.pending, '\n'); end >= 0 {
		line, s.pending = s.pending[:end+1], s.pending[end+1:]
	} else {
		line, err = s.file.ReadBytes('\n')
		line, s.pending = append(s.pending, line...), nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.lines += bytes.Count(line, newline)
	return line, err
}

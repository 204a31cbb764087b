// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Audit reads the audit logs of the API servers of one control plane for many checks: each line is read once. The zero value has read
// nothing. It is safe for concurrent use.
type Audit struct {
	mu     sync.Mutex
	files  map[string]*auditLog // by path
	stages map[string]*Request  // by ID
}

// auditLog is the part of a file that was read: complete lines.
type auditLog struct {
	bytes int64
	lines int
}

// Read returns every request once, in the order in which the servers received them. It skips a line that a killed server left
// incomplete; any other unreadable line is an error.
func (a *Audit) Read(paths ...string) ([]Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files == nil {
		a.files, a.stages = map[string]*auditLog{}, map[string]*Request{}
	}
	for _, path := range paths {
		if a.files[path] == nil {
			a.files[path] = &auditLog{}
		}
		if err := a.readFile(path, a.files[path]); err != nil {
			return nil, fmt.Errorf("audit log %s: %w", path, err)
		}
	}
	sorted := slices.SortedFunc(maps.Values(a.stages), func(a, b *Request) int {
		return cmp.Or(a.Received.Compare(b.Received), strings.Compare(a.ID, b.ID))
	})
	requests := make([]Request, 0, len(sorted))
	for _, r := range sorted {
		requests = append(requests, *r)
	}
	return requests, nil
}

// readFile reads the complete lines that a file has in addition.
func (a *Audit) readFile(path string, read *auditLog) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.NewSectionReader(file, read.bytes, math.MaxInt64-read.bytes))
	if err != nil {
		return err
	}
	complete := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(complete) {
		read.lines++
		event, err := readEvent(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", read.lines, err)
		}
		if event == nil {
			continue
		}
		id := string(event.AuditID)
		if a.stages[id] == nil {
			a.stages[id] = &Request{}
		}
		a.stages[id].take(event)
	}
	read.bytes += int64(len(complete))
	return nil
}

// begin is the start of each event. A restarted server appends to the incomplete line of the killed one.
var begin = []byte(`{"kind":"Event",`)

func readEvent(line []byte) (*auditv1.Event, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, nil
	}
	event := &auditv1.Event{}
	err := json.Unmarshal(line, event)
	if err == nil {
		return event, nil
	}
	if again := bytes.LastIndex(line, begin); again > 0 && json.Unmarshal(line[again:], event) == nil {
		return event, nil
	}
	return nil, err
}

// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// ReadAudit reads the audit logs of the API servers. It returns every request once, in the order in which the servers
// received them. It skips a line that a killed server left incomplete; any other unreadable line is an error.
func ReadAudit(paths ...string) ([]Request, error) {
	stages := map[string]*Request{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := readStages(data, stages); err != nil {
			return nil, fmt.Errorf("audit log %s: %w", path, err)
		}
	}
	requests := make([]Request, 0, len(stages))
	for _, r := range stages {
		requests = append(requests, *r)
	}
	slices.SortFunc(requests, func(a, b Request) int {
		if c := a.Received.Compare(b.Received); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.ID), []byte(b.ID))
	})
	return requests, nil
}

func readStages(data []byte, stages map[string]*Request) error {
	for number := 1; len(data) > 0; number++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		event, err := readEvent(line)
		switch {
		case err != nil && !ended:
			return nil // the server was killed during the write
		case err != nil:
			return fmt.Errorf("line %d: %w", number, err)
		case event == nil:
			continue
		}
		id := string(event.AuditID)
		if stages[id] == nil {
			stages[id] = &Request{}
		}
		stages[id].take(event)
	}
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

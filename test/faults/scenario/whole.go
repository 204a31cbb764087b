// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// writtenWithin is how long an API server may take to write an answered request to its audit log.
const writtenWithin = time.Minute

// requests returns the requests in the audit logs. It returns an error if they lack a DELETE that, according to the proxy, an
// API server has carried out for a replica. A server that was killed too soon has not logged it, and the DELETE could not be
// checked.
func (s *Scenario) requests(ctx context.Context) ([]history.Request, error) {
	var journals []proxy.Entry
	for _, r := range s.all() {
		journals = append(journals, r.Proxy.Journal()...)
	}
	for deadline := time.Now().Add(writtenWithin); ; {
		requests, err := s.plane.audit.Read(s.Cluster.AuditLogs()...)
		if err != nil {
			return nil, err
		}
		lack := missing(journals, requests)
		switch {
		case len(lack) == 0:
			return requests, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("the audit logs lack %d DELETEs, the first of %s", len(lack), lack[0].Path)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// missing returns the successful DELETEs that are not among the requests.
func missing(journal []proxy.Entry, requests []history.Request) (lack []proxy.Entry) {
	known := map[string]bool{}
	for _, r := range requests {
		known[r.ID] = true
	}
	for _, e := range journal {
		if e.Verb == "delete" && e.Answered >= 200 && e.Answered < 300 && !known[e.ID] {
			lack = append(lack, e)
		}
	}
	return lack
}

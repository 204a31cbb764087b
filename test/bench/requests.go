// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// requests counts the requests that the API server has answered, by "VERB resource".
type requests map[string]int

var (
	requestTotal = regexp.MustCompile(`(?m)^apiserver_request_total\{([^}]*)\} (\S+)$`)
	eventTotal   = regexp.MustCompile(`(?m)^apiserver_watch_events_total\{([^}]*)\} (\S+)$`)
)

// countRequests reads the API server's metrics.
func countRequests(ctx context.Context, client kubernetes.Interface) (requests, error) {
	return count(ctx, client, requestTotal)
}

// count reads a counter of the API server's metrics. Without the label verb, the keys are " resource".
func count(ctx context.Context, client kubernetes.Interface, metric *regexp.Regexp) (requests, error) {
	data, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	counts := requests{}
	for _, match := range metric.FindAllStringSubmatch(string(data), -1) {
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		counts[label(match[1], "verb")+" "+label(match[1], "resource")] += int(n)
	}
	return counts, nil
}

func label(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// since returns the number of requests after an earlier count, for the keys that keep selects.
func (r requests) since(before requests, keep func(key string) bool) int {
	total := 0
	for key, n := range r {
		if keep(key) {
			total += n - before[key]
		}
	}
	return total
}

// ofDeletion selects the requests that a controller sends to delete objects. It excludes watches and the requests of the
// benchmark, which lists Jobs to count the remaining ones.
func ofDeletion(key string) bool {
	switch key {
	case "LIST jobs", "LIST ", "GET ", "WATCH jobs", "WATCHLIST jobs":
		return false
	}
	verb, resource, _ := strings.Cut(key, " ")
	if verb == "WATCH" || verb == "WATCHLIST" {
		return false
	}
	switch resource {
	case "jobs", "clusterretentionpolicies", "retentionledgers", "namespaces", "events":
		return true
	}
	return false
}

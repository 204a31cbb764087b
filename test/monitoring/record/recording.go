// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recording is the values of series at each interval.
type recording struct {
	every time.Duration
	looks int
	seen  map[string][]string // by series; "_" without a value
}

func newRecording(every time.Duration) *recording {
	return &recording{every: every, seen: map[string][]string{}}
}

// scrape reads the metrics once, for the nth interval if none was missed. It ignores unreadable metrics.
func (r *recording) scrape(ctx context.Context, n int, url string) error {
	r.looks = n + 1
	defer r.fill()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return r.read(response.Body)
}

// fill adds an empty value to series that this scrape has not seen.
func (r *recording) fill() {
	for series, values := range r.seen {
		for len(values) < r.looks {
			values = append(values, "_")
		}
		r.seen[series] = values
	}
}

func (r *recording) add(series, value string) {
	values := r.seen[series]
	for len(values) < r.looks-1 {
		values = append(values, "_")
	}
	r.seen[series] = append(values, value)
}

// String returns a line for each series, with its values in the notation of promtool. The first line contains the interval.
func (r *recording) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# every %s\n", r.every)
	for _, series := range slices.Sorted(maps.Keys(r.seen)) {
		fmt.Fprintf(&b, "%s %s\n", series, strings.Join(short(r.seen[series]), " "))
	}
	return b.String()
}

// short merges equal consecutive values, and marks the end of a series.
func short(values []string) (words []string) {
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		switch {
		case values[i] == "_" && i > 0:
			words = append(words, "stale")
			if n > 1 {
				words = append(words, "_x"+strconv.Itoa(n-1))
			}
		case values[i] == "_":
			words = append(words, "_x"+strconv.Itoa(n))
		case n > 1:
			words = append(words, values[i]+"x"+strconv.Itoa(n-1))
		default:
			words = append(words, values[i])
		}
		i += n
	}
	return words
}

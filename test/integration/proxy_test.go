// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"net/http"

	"github.com/sunset-k8s/sunset/test/proxy"
)

// catchOne holds the first request that matches.
func catchOne(g *proxy.Proxy, match proxy.Match) *proxy.Armed {
	return g.Arm(proxy.Fault{Match: match, Hold: true, Times: 1})
}

// recorded returns the requests that match from now on, as lines of method, path and body.
func recorded(g *proxy.Proxy, match proxy.Match) func() []string {
	entries := g.Record(match)
	return func() (lines []string) {
		for _, e := range entries() {
			lines = append(lines, e.Method+" "+e.Path+" "+string(e.Body))
		}
		return lines
	}
}

// conflicts returns the number of DELETEs that the API server has answered with 409.
func conflicts(g *proxy.Proxy) (n int) {
	for _, e := range g.Journal() {
		if e.Method == http.MethodDelete && e.Answered == http.StatusConflict {
			n++
		}
	}
	return n
}

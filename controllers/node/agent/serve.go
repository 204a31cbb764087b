// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
)

// seeTimeout bounds how long a client waits for a snapshot of the node.
const seeTimeout = 20 * time.Second

// atATime is the maximum number of concurrent responses. Every client that reaches the port may send requests, and a response
// takes megabytes.
const atATime = 2

// serve returns a handler that lists the images of the node, for every client.
func serve(see func(context.Context) (*debug.NodeImages, error), now func() time.Time) http.Handler {
	answering := make(chan struct{}, atATime)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "only GET is supported", http.StatusMethodNotAllowed)
			return
		}
		select {
		case answering <- struct{}{}:
			defer func() { <-answering }()
		default:
			http.Error(w, "too many requests at the same time; retry later", http.StatusServiceUnavailable)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(now().Add(2 * seeTimeout)) // if the connection has deadlines
		ctx, cancel := context.WithTimeout(r.Context(), seeTimeout)
		defer cancel()
		seen, err := see(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(seen) // the client may have disconnected
	})
}

package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
)

// seeTimeout bounds how long whoever asks waits for a look at the node.
const seeTimeout = 20 * time.Second

// atATime is how many are told at a time: whoever reaches the port may ask, and an answer takes megabytes.
const atATime = 2

// serve tells whoever asks what images are on the node.
func serve(see func(context.Context) (*debug.Handler, error), now func() time.Time) http.Handler {
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
		_ = http.NewResponseController(w).SetWriteDeadline(now().Add(2 * seeTimeout)) // where a connection has deadlines
		ctx, cancel := context.WithTimeout(r.Context(), seeTimeout)
		defer cancel()
		seen, err := see(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(seen) // to somebody who may have gone
	})
}

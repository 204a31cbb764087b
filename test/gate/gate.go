package gate

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Gate is a proxy before an API server. All methods may be called from any goroutine, also while requests are under way.
type Gate struct{}

// New starts a gate, which ends with the test. Everybody who comes through it acts as the user of config.
func New(t testing.TB, config *rest.Config) *Gate {
	t.Helper()
	return &Gate{}
}

// Config reaches the API server through the gate, by plain HTTP and without credentials. Each call returns a fresh copy.
func (g *Gate) Config() *rest.Config { return nil }

// Arm lets a fault strike from now on. Of several that match a request all do, in the order in which they were armed;
// the first Answer, and the first Drop, are the ones that count.
func (g *Gate) Arm(f Fault) *Armed { return nil }

// Skew makes the API server's clock seem to be ahead by what is given; zero ends it.
func (g *Gate) Skew(by time.Duration) {}

// Freeze stops the watches that match, those that are open too, without ending them. Thaw lets them flow on; it may be
// called more than once.
func (g *Gate) Freeze(match Match) (thaw func()) { return nil }

// Frames changes what watches that match carry, those that are open too: what change makes of one event, a JSON object
// without its newline, is sent on in its place, one event after the other. Nothing drops the event, two of it make a
// double, and one that change keeps back for a later call comes late. change is called by one goroutine at a time. Lift
// ends it; it may be called more than once.
func (g *Gate) Frames(match Match, change func(event []byte) [][]byte) (lift func()) { return nil }

// Adjust changes requests before anything else is done with them, from now on: several do so in turn. What the journal
// and the faults see is the changed request.
func (g *Gate) Adjust(change func(*http.Request)) {}

// Cut ends every connection to the gate, watches included. Whoever was connected may connect again at once.
func (g *Gate) Cut() {}

// Retarget sends requests from now on to another API server, as the user of config, and cuts the connections.
func (g *Gate) Retarget(config *rest.Config) {}

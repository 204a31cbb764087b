// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

func TestWatches(t *testing.T) {
	g, s := behind(t)
	lines := watched(t, g)
	s.events <- `{"n":1}`
	if line := <-lines; line != `{"n":1}` {
		t.Fatal(line)
	}
	t.Run("freeze and thaw", func(t *testing.T) {
		thaw := g.Freeze(proxy.Requests("watch", "configmaps"))
		s.events <- `{"n":2}`
		eventually(t, func() bool { return g.Counts().HeldBack == 1 })
		select {
		case line := <-lines:
			t.Fatalf("%s came through", line)
		case <-time.After(20 * time.Millisecond):
		}
		eventually(t, func() bool { return g.Counts().HeldBack > 0 }) // the event may arrive later
		thaw()
		thaw()
		if line := <-lines; line != `{"n":2}` {
			t.Fatal(line)
		}
		if n := g.Counts().HeldBack; n != 1 {
			t.Errorf("%d events were held back", n)
		}
	})
	t.Run("drop, duplicate and reorder events", func(t *testing.T) {
		var kept [][]byte
		lift := g.Frames(nil, func(event []byte) [][]byte {
			switch string(event) {
			case `{"n":3}`:
				return nil
			case `{"n":4}`:
				return [][]byte{event, event}
			case `{"n":5}`:
				kept = append(kept, event)
				return nil
			default:
				return append([][]byte{event}, kept...)
			}
		})
		for n := 3; n <= 6; n++ {
			s.events <- fmt.Sprintf(`{"n":%d}`, n)
		}
		for _, want := range []int{4, 4, 6, 5} {
			if line := <-lines; line != fmt.Sprintf(`{"n":%d}`, want) {
				t.Fatalf("%s, want %d", line, want)
			}
		}
		lift()
		s.events <- `{"n":3}`
		if line := <-lines; line != `{"n":3}` {
			t.Fatal(line)
		}
		if n := g.Counts().Edited; n != 4 { // dropped, duplicated, held back, sent with the one that was held back
			t.Errorf("%d events were edited", n)
		}
	})
	t.Run("end when the proxy closes the connections", func(t *testing.T) {
		g.Cut()
		if line, more := <-lines; more {
			t.Fatal(line)
		}
		if n := g.Counts().Cut; n != 1 {
			t.Errorf("%d connections were cut", n)
		}
	})
}

// watched opens a watch through a proxy and returns its events until it ends.
func watched(t *testing.T, g *proxy.Proxy) <-chan string {
	t.Helper()
	response, err := http.Get(g.Config().Host + watch)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

const (
	one   = "/api/v1/namespaces/ns/configmaps/one"
	all   = "/api/v1/configmaps"
	watch = all + "?watch=true"
)

// server is the server behind the proxy. It echoes each request; its watches send the events of a channel.
type server struct {
	asked  atomic.Int64
	accept atomic.Value
	events chan string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.accept.Store(r.Header.Get("Accept"))
	if r.URL.Query().Get("watch") == "" {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
		return
	}
	flush := http.NewResponseController(w)
	for {
		_ = flush.Flush()
		select {
		case event := <-s.events:
			fmt.Fprintln(w, event)
		case <-r.Context().Done():
			return
		}
	}
}

// behind starts a server and a proxy in front of it.
func behind(t *testing.T) (*proxy.Proxy, *server) {
	t.Helper()
	s := &server{events: make(chan string, 16)}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(h.CloseClientConnections)
	return proxy.New(t, &rest.Config{Host: h.URL}), s
}

// do sends a request through a proxy and returns the answer with its body.
func do(ctx context.Context, g *proxy.Proxy, method, path, body string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, g.Config().Host+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	r.Header.Set("User-Agent", "somebody")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

func must(t *testing.T, g *proxy.Proxy, method, path, body string) (*http.Response, string) {
	t.Helper()
	response, text, err := do(t.Context(), g, method, path, body)
	expect.NoError(t, err)
	return response, text
}

// later sends a request in the background. The channel receives the answer.
func later(t *testing.T, g *proxy.Proxy, method, path string) <-chan string {
	t.Helper()
	answered := make(chan string, 1)
	go func() {
		_, text, err := do(t.Context(), g, method, path, "")
		answered <- fmt.Sprint(text, err)
	}()
	return answered
}

func TestRequestsWithoutAFaultPass(t *testing.T) {
	g, s := behind(t)
	a := g.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Answer: &proxy.Answer{Code: 500}})
	if _, text := must(t, g, "PUT", one, "body"); text != "PUT "+one+" body" {
		t.Errorf("%q", text)
	}
	if accept := s.accept.Load(); accept != "application/json" {
		t.Errorf("the server received Accept: %q", accept)
	}
	if a.Fired() != 0 {
		t.Error("a fault fired for a request that it does not match")
	}
}

func TestHeldUntilReleased(t *testing.T) {
	g, s := behind(t)
	a := g.Arm(proxy.Fault{Match: proxy.Named("one"), Hold: true, Times: 1})
	answered := later(t, g, "DELETE", one)
	<-a.Arrived()
	must(t, g, "DELETE", one, "") // Times is 1: the second request is not held.
	select {
	case <-answered:
		t.Fatal("the request was not held")
	case <-time.After(20 * time.Millisecond):
	}
	if s.asked.Load() != 1 {
		t.Error("a held request reached the server")
	}
	a.Release()
	if text := <-answered; !strings.HasPrefix(text, "DELETE") {
		t.Error(text)
	}
}

func TestHeldRequestIsSentOnlyIfLate(t *testing.T) {
	for name, late := range map[string]bool{"with its client": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			g, s := behind(t)
			a := g.Arm(proxy.Fault{Hold: true, Late: late})
			ctx, hangUp := context.WithCancel(t.Context())
			go func() {
				<-a.Arrived()
				hangUp()
			}()
			if _, _, err := do(ctx, g, "DELETE", one, ""); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if !late {
				eventually(t, func() bool { return !g.Journal()[0].Done.IsZero() })
			}
			a.Release()
			eventually(t, func() bool { return !g.Journal()[0].Done.IsZero() })
			if asked := s.asked.Load() == 1; asked != late {
				t.Errorf("request reached the server: %v", asked)
			}
		})
	}
}

func TestDropped(t *testing.T) {
	for name, test := range map[string]struct {
		at    proxy.Moment
		asked int64
	}{
		"before the server receives the request": {proxy.Before, 0},
		"after the server has answered":          {proxy.After, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := behind(t)
			g.Arm(proxy.Fault{Match: proxy.Requests("delete", ""), Drop: test.at})
			if _, _, err := do(t.Context(), g, "DELETE", one, ""); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
				t.Errorf("want a reset connection, not %v", err)
			}
			if s.asked.Load() != test.asked {
				t.Errorf("the server received %d requests", s.asked.Load())
			}
			if e := g.Journal()[0]; e.Code != 0 || e.Forwarded != (test.asked > 0) {
				t.Errorf("journal: %+v", e)
			}
		})
	}
}

func TestDelayed(t *testing.T) {
	g, _ := behind(t)
	g.Arm(proxy.Fault{Delay: 30 * time.Millisecond})
	began := time.Now()
	must(t, g, "GET", one, "")
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("the request took %s", took)
	}
}

func TestAnsweredByTheProxy(t *testing.T) {
	g, s := behind(t)
	g.Arm(proxy.Fault{Match: proxy.Requests("get", ""), Answer: &proxy.Answer{
		Code: 429, Reason: "TooManyRequests", Headers: map[string]string{"Retry-After": "3"}}})
	g.Arm(proxy.Fault{Match: proxy.Requests("list", ""), Answer: &proxy.Answer{Code: 200, Body: []byte("{}")}})
	response, text := must(t, g, "GET", one, "")
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "3" || !strings.Contains(text, `"reason":"TooManyRequests"`) {
		t.Errorf("%v %s", response, text)
	}
	if _, text := must(t, g, "GET", all, ""); text != "{}" {
		t.Error(text)
	}
	respond := g.Answers(func(r *http.Request) *proxy.Answer {
		if string(proxy.Body(r)) != "no" {
			return nil
		}
		return &proxy.Answer{Code: 403}
	})
	must(t, g, "PUT", one, "yes")
	if response, _ := must(t, g, "PUT", one, "no"); response.StatusCode != 403 || respond.Fired() != 1 {
		t.Errorf("%v, fired %d times", response, respond.Fired())
	}
	if s.asked.Load() != 1 {
		t.Errorf("the server received %d requests", s.asked.Load())
	}
}

func TestBodiesAndDatesRewritten(t *testing.T) {
	g, _ := behind(t)
	a := g.Arm(proxy.Fault{Match: proxy.Requests("get", ""), Rewrite: func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte("one"), []byte("another"))
	}})
	g.Skew(time.Hour)
	response, text := must(t, g, "GET", one, "")
	if !strings.Contains(text, "another") {
		t.Error(text)
	}
	date, err := http.ParseTime(response.Header.Get("Date"))
	if ahead := time.Until(date); err != nil || ahead < 59*time.Minute || ahead > 61*time.Minute {
		t.Errorf("Date is %s ahead, error %v", ahead, err)
	}
	if n := g.Counts().Dated; n != 1 {
		t.Errorf("%d dates were changed", n)
	}
	a.Lift()
	if _, text := must(t, g, "GET", one, ""); strings.Contains(text, "another") {
		t.Error("the fault still applies after Lift")
	}
}

func TestFunctionsAtTheThirdRequest(t *testing.T) {
	g, s := behind(t)
	var before, after atomic.Int64
	a := g.Arm(proxy.Fault{Match: proxy.Writes("configmaps"), Skip: 2, Times: 1,
		Do: func() { before.Store(s.asked.Load()) }, DoAfter: func() { after.Store(s.asked.Load()) }})
	for range 5 {
		must(t, g, "GET", one, "")
		must(t, g, "PUT", one, "")
	}
	if before.Load() != 5 || after.Load() != 6 || a.Fired() != 1 {
		t.Errorf("called after %d and %d requests; fired %d times", before.Load(), after.Load(), a.Fired())
	}
}

func TestRetargetSendsAllRequestsElsewhere(t *testing.T) {
	g, s := behind(t)
	_, other := behind(t)
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	expect.NoError(t, g.Retarget(&rest.Config{Host: elsewhere.URL}))
	must(t, g, "GET", one, "")
	if s.asked.Load() != 0 || other.asked.Load() != 1 {
		t.Error("the request reached the wrong server")
	}
}

func TestServerThatIsDownResetsTheConnection(t *testing.T) {
	g := proxy.New(t, &rest.Config{Host: "http://127.0.0.1:1"})
	if response, _, err := do(t.Context(), g, "GET", one, ""); err == nil {
		t.Errorf("%v", response)
	}
}

func TestJournal(t *testing.T) {
	g, _ := behind(t)
	g.Adjust(func(r *http.Request) { r.URL.RawQuery = "limit=1" })
	must(t, g, "GET", all, "")
	deletes := g.Record(proxy.Requests("delete", ""))
	must(t, g, "DELETE", one, `{"dryRun":["All"]}`)
	journal := g.Journal()
	if len(journal) != 2 || journal[0].Verb != "list" || journal[0].Path != all || journal[0].Query != "limit=1" || journal[0].Answered != 200 {
		t.Errorf("%+v", journal)
	}
	e := deletes()[0]
	switch {
	case e.Verb != "delete", e.Resource != "configmaps", e.Namespace != "ns", e.Name != "one", e.UserAgent != "somebody",
		!e.DryRun, !strings.Contains(string(e.Body), "dryRun"), e.Code != 200, e.At.After(e.Done):
		t.Errorf("%+v", e)
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timed out waiting for the condition")
		}
	}
}

func TestDivertSendsMatchingRequestsElsewhere(t *testing.T) {
	g, here := behind(t)
	elsewhere, there := behind(t)
	expect.NoError(t, g.Divert(proxy.Requests("get", "configmaps"), elsewhere.Config()))
	must(t, g, "GET", one, "")
	must(t, g, "DELETE", one, "{}")
	if here.asked.Load() != 1 || there.asked.Load() != 1 {
		t.Errorf("the first server received %d requests, the second %d", here.asked.Load(), there.asked.Load())
	}
}

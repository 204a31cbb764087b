// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/web"
	"github.com/sunset-k8s/sunset/test/expect"
)

var pages = web.Pages{
	"":      func(context.Context) (*report.Page, error) { return &report.Page{Title: "first <b>"}, nil },
	"other": func(context.Context) (*report.Page, error) { return &report.Page{Title: "second"}, nil },
	"large": func(context.Context) (*report.Page, error) {
		return &report.Page{Title: strings.Repeat("x", 16<<20)}, nil
	}, // more than a connection buffers
	"fails": func(context.Context) (*report.Page, error) { return nil, errors.New("no <b>cluster</b>") },
}

// serve returns the address of the first page.
func serve(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- web.Serve(ctx, pages, func(url string) { started <- url }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-started:
		return url
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return ""
	}
}

// ask returns the response and its body.
func ask(t *testing.T, method, url string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	expect.NoError(t, err)
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	expect.NoError(t, err)
	return response, string(body)
}

func TestServe(t *testing.T) {
	url := serve(t)
	host := strings.Split(url, "/")[2]
	wrong := strings.TrimSuffix(url, "/") + "A/"
	for name, test := range map[string]struct {
		method, url string
		change      func(*http.Request)
		code        int
		body        string
	}{
		"the first page":             {url: url, code: http.StatusOK, body: "<h1>first &lt;b&gt;</h1>"},
		"another page":               {url: url + "other", code: http.StatusOK, body: "<h1>second</h1>"},
		"a page with an error":       {url: url + "fails", code: http.StatusBadGateway, body: "no <b>cluster</b>"},
		"an unknown page":            {url: url + "unknown", code: http.StatusNotFound, body: "not found"},
		"no token":                   {url: "http://" + host + "/", code: http.StatusNotFound, body: "not found"},
		"no token for another page":  {url: "http://" + host + "/other", code: http.StatusNotFound, body: "not found"},
		"a wrong token":              {url: wrong, code: http.StatusNotFound, body: "not found"},
		"a name of another site":     {url: url, change: func(r *http.Request) { r.Host = "attacker.example.com" }, code: http.StatusMisdirectedRequest},
		"a request that changes":     {method: http.MethodPost, url: url, code: http.StatusMethodNotAllowed},
		"a question of another site": {method: http.MethodOptions, url: url, change: func(r *http.Request) { r.Header.Set("Origin", "https://attacker.example.com") }, code: http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := ask(t, test.method, test.url, test.change)
			expect.Equal(t, "code", test.code, response.StatusCode)
			if !strings.Contains(body, test.body) {
				t.Errorf("body %.300q", body)
			}
			isPage := strings.HasPrefix(response.Header.Get("Content-Type"), "text/html")
			expect.Equal(t, "HTML", test.code == http.StatusOK, isPage)
			for header := range response.Header {
				if strings.HasPrefix(header, "Access-Control-") {
					t.Errorf("header %s", header)
				}
			}
			if got := response.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || !strings.Contains(got, "frame-ancestors 'none'") {
				t.Errorf("policy %q", got)
			}
		})
	}
}

// TestClientThatDoesNotRead: it does not stop the pages of other clients.
func TestClientThatDoesNotRead(t *testing.T) {
	url := serve(t)
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
	expect.NoError(t, err)
	defer func() { _ = slow.Close() }()
	_, err = io.WriteString(slow, "GET /"+path+"large HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	expect.NoError(t, err)
	_, err = io.ReadFull(slow, make([]byte, 1)) // the server writes the page
	expect.NoError(t, err)
	response, _ := ask(t, http.MethodGet, url+"other", nil)
	expect.Equal(t, "code", http.StatusOK, response.StatusCode)
}

// TestServeIsLocal: the address is that of this machine, and differs each time.
func TestServeIsLocal(t *testing.T) {
	first, second := serve(t), serve(t)
	for _, url := range []string{first, second} {
		parts := strings.Split(url, "/")
		host, _, err := net.SplitHostPort(parts[2])
		expect.NoError(t, err)
		expect.Equal(t, "host", "127.0.0.1", host)
		if len(parts[3]) < 26 {
			t.Errorf("the token %q is short", parts[3])
		}
	}
	if strings.Split(first, "/")[3] == strings.Split(second, "/")[3] {
		t.Error("two servers have the same token")
	}
}

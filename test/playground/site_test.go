// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sunset-k8s/sunset/cmd/playground/site"
	"github.com/sunset-k8s/sunset/test/expect"
)

// theSite builds the documentation, if it is not in the cache.
var theSite = once(func(ctx context.Context) (string, error) { return site.Site(ctx, "/") })

// openSite serves the site, and returns a browser and the URL of the first page.
func openSite(t *testing.T) (*tab, string) {
	t.Helper()
	b := openBrowser(t)
	dir, err := theSite()
	expect.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	b.dir = dir
	return b, server.URL + "/"
}

// document is what links of a page need.
type document struct {
	anchors map[string]bool
	links   []string
}

// readDocuments reads every page of a site, by its path.
func readDocuments(t *testing.T, dir string) map[string]document {
	t.Helper()
	all := map[string]document{}
	for _, page := range allPages(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, page))
		expect.NoError(t, err)
		root, err := html.Parse(bytes.NewReader(text))
		expect.NoError(t, err)
		d := document{anchors: map[string]bool{}}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					d.anchors[a.Val] = true
				case "href", "src":
					d.links = append(d.links, a.Val)
				}
			}
		}
		all[page] = d
	}
	return all
}

// allPages returns the paths of all pages of a site, in order.
func allPages(t *testing.T, dir string) (pages []string) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".html" {
			pages = append(pages, filepath.ToSlash(strings.TrimPrefix(file, dir)))
		}
		return err
	}))
	return pages
}

// TestLinksOfTheSite: each link leads to a file of the site, and to an anchor of it if it names one, or to another server.
func TestLinksOfTheSite(t *testing.T) {
	install(t, map[string]string{"node": "nodejs", "npm": "npm", "zstd": "zstd"})
	dir, err := theSite()
	expect.NoError(t, err)
	all, within := readDocuments(t, dir), 0
	for name, d := range all {
		for _, link := range d.links {
			u, err := (&url.URL{Path: name}).Parse(link)
			switch {
			case err != nil:
				t.Errorf("%s: link %q: %v", name, link, err)
				continue
			case u.Scheme != "" || u.Host != "":
				continue
			case strings.HasSuffix(u.Path, "/"):
				u.Path += "index.html"
			}
			within++
			to, isPage := all[path.Clean(u.Path)]
			if _, err := os.Stat(filepath.Join(dir, u.Path)); err != nil {
				t.Errorf("%s: link %q leads nowhere", name, link)
			} else if u.Fragment != "" && isPage && !to.anchors[u.Fragment] {
				t.Errorf("%s: link %q: the page has no such anchor", name, link)
			}
		}
	}
	if _, ok := all["/playground/index.html"]; !ok || len(all) < 100 || within < 1000 {
		t.Errorf("%d pages with %d links within the site; playground: %t", len(all), within, ok)
	}
}

// pagesOf returns all pages, except the playground, which has tests of its own.
func pagesOf(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(allPages(t, dir), func(name string) bool { return strings.HasPrefix(name, "/playground/") })
}

// isReport reports whether a page is the report of a sample.
func isReport(page string) bool {
	return strings.HasPrefix(page, "/reports/") && page != "/reports/index.html"
}

// TestSiteLooks checks each look of the pages, and one look of each report.
func TestSiteLooks(t *testing.T) {
	onlyLong(t)
	b, first := openSite(t)
	pages := pagesOf(t, b.dir)
	for i, name := range slices.Sorted(maps.Keys(looks)) {
		look := looks[name]
		b.look(look.scheme, look.width, look.height)
		for n, page := range pages {
			if isReport(page) && n%len(looks) != i {
				continue
			}
			b.show(first + strings.TrimPrefix(page, "/"))
			b.waitFor(`!document.querySelector("figure pre")`) // until the diagrams are drawn
			described := `[...document.querySelectorAll("figure[aria-label=Diagram]")].every((f) => document.getElementById(f.getAttribute("aria-describedby"))?.textContent.trim())`
			expect.Equal(t, page+" describes its diagrams", true, value[bool](b, described))
			b.checkLook("site"+strings.TrimSuffix(strings.ReplaceAll(page, "/", "-"), ".html")+"-"+name, window, "wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
			if got := value[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.documentElement).colorScheme.includes("dark")`); got != (look.scheme == "dark") {
				t.Errorf("%s of %s: dark is %t", name, page, got)
			}
		}
	}
}

// TestSiteShowsThePlayground: the page works in a folder of a server.
func TestSiteShowsThePlayground(t *testing.T) {
	b, first := openSite(t)
	b.open(first + "playground/index.html")
	if !strings.Contains(b.status(), "verdicts") {
		t.Errorf("status %q", b.status())
	}
}

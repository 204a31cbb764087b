// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/text"
)

// home is the URL of the repository on the web. Links to its main branch count as links to files.
const home = "https://github.com/sunset-k8s/sunset/blob/main/"

// page is one Markdown file.
type page struct {
	name    string // path from the root of the repository
	anchors map[string]bool
	links   []link
}

// link is the destination of a link and its line in a page.
type link struct {
	line        int
	destination string
}

// readPage parses Markdown like GitHub.
func readPage(name string, source []byte) page {
	p := page{name: name, anchors: map[string]bool{}}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(markdown.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.anchors[unused(p.anchors, slug(plain(n, source)))] = true
		case *ast.Link:
			p.links = append(p.links, link{lineOf(n, source), string(n.Destination)})
		case *ast.Image:
			p.links = append(p.links, link{lineOf(n, source), string(n.Destination)})
		case *ast.AutoLink:
			p.links = append(p.links, link{lineOf(n, source), string(n.URL(source))})
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if said := string(n.Segment.Value(source)); strings.Contains(said, "](") || strings.Contains(said, "][") {
				p.links = append(p.links, link{lineOf(n, source), said}) // intended as a link, but not parsed as one
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// plain returns the text of a heading without its markup.
func plain(n ast.Node, source []byte) string {
	said := ""
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch c := child.(type) {
		case *ast.Text:
			said += string(c.Segment.Value(source))
		case *ast.String:
			said += string(c.Value)
		default:
			said += plain(c, source)
		}
	}
	return said
}

// slug is the anchor that GitHub generates for a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Pc):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

// unused returns the anchor, or the first of anchor-1, anchor-2 and so on that no earlier heading has.
func unused(anchors map[string]bool, anchor string) string {
	free := anchor
	for i := 1; anchors[free]; i++ {
		free = fmt.Sprintf("%s-%d", anchor, i)
	}
	return free
}

// lineOf returns the line of a node's text, or of the block around it.
func lineOf(n ast.Node, source []byte) int {
	at := -1
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if said, ok := n.(*ast.Text); ok && entering && at < 0 {
			at = said.Segment.Start
		}
		return ast.WalkContinue, nil
	})
	for block := n; at < 0 && block != nil; block = block.Parent() {
		if block.Type() == ast.TypeBlock && block.Lines().Len() > 0 {
			at = block.Lines().At(0).Start
		}
	}
	return 1 + strings.Count(string(source[:max(at, 0)]), "\n")
}

// goesTo returns the file of the repository that a link of a page leads to, with its anchor if any. The file is empty for
// external links. The error describes an invalid link.
func (p page) goesTo(destination string) (file, anchor string, err error) {
	within, ours := strings.CutPrefix(destination, home)
	u, err := url.Parse(within)
	switch {
	case err != nil:
		return "", "", err
	case ours:
		return path.Clean(u.Path), u.Fragment, nil
	case u.Scheme == "https" && u.Host != "":
		return "", "", nil
	case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/") || strings.ContainsAny(u.Path, " []()"):
		return "", "", fmt.Errorf("want https://, or a path from %s", path.Dir(p.name))
	case u.Path == "":
		return p.name, u.Fragment, nil
	default:
		return path.Join(path.Dir(p.name), u.Path), u.Fragment, nil
	}
}

// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// library is everything that a link can name.
type library struct {
	files map[string]bool // files and folders, by path from the root of the repository
	pages map[string]page
	named []link // links to pages in sources and charts; the line is 0
}

// readLibrary reads the links of files. A nil text is not read.
func readLibrary(texts map[string][]byte) library {
	l := library{files: map[string]bool{".": true}, pages: map[string]page{}}
	for name, text := range texts {
		for parent := name; parent != "."; parent = path.Dir(parent) {
			l.files[parent] = true
		}
		if strings.HasSuffix(name, ".md") {
			l.pages[name] = readPage(name, text)
			continue
		}
		for _, mention := range pageName.FindAll(text, -1) {
			l.named = append(l.named, link{destination: string(mention)})
		}
	}
	return l
}

// pageName matches a page, with or without an anchor, as comments, messages and alerts name it.
var pageName = regexp.MustCompile(`\bdocs/[A-Za-z0-9/-]+\.md(#[a-z0-9-]+)?`)

// check returns what is wrong with a link of a page.
func (l library) check(p page, to link) string {
	file, anchor, err := p.goesTo(to.destination)
	switch {
	case err != nil:
		return err.Error()
	case file == "":
		return ""
	case !l.files[file]:
		return file + " does not exist"
	case anchor != "" && !l.pages[l.shown(file)].anchors[anchor]:
		return fmt.Sprintf("%s has no heading #%s", file, anchor)
	default:
		return ""
	}
}

// shown is the page that GitHub displays for a file or folder.
func (l library) shown(file string) string {
	if readme := path.Join(file, "README.md"); l.files[readme] {
		return readme
	}
	return file
}

// problems returns broken links and unreachable pages.
func (l library) problems() []string {
	var wrong []string
	for _, p := range l.pages {
		for _, to := range p.links {
			if problem := l.check(p, to); problem != "" {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", p.name, to.line, to.destination, problem))
			}
		}
	}
	for _, mention := range l.named {
		if problem := l.check(page{name: "README.md"}, mention); problem != "" {
			wrong = append(wrong, fmt.Sprintf("a file names %s: %s", mention.destination, problem))
		}
	}
	found := l.reachable("README.md")
	for name := range l.pages {
		if !found[name] {
			wrong = append(wrong, name+": not reachable from README.md")
		}
		if strings.HasPrefix(name, "docs/") && name != entry && !l.isListed(name) {
			wrong = append(wrong, fmt.Sprintf("%s: not linked from %s", name, entry))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// entry is the page that links to all others of its folder, or to the README.md of a folder that does.
const entry = "docs/README.md"

// isListed reports whether the README.md of a folder above the page links to it.
func (l library) isListed(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if list := path.Join(dir, "README.md"); list != name && slices.Contains(l.next(list), name) {
			return true
		}
	}
	return false
}

// reachable returns the pages that are reachable by links.
func (l library) reachable(from string) map[string]bool {
	found := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, name := range l.next(queue[0]) {
			if !found[name] {
				found[name] = true
				queue = append(queue, name)
			}
		}
	}
	return found
}

// next returns the pages that a page links to.
func (l library) next(name string) []string {
	var to []string
	for _, link := range l.pages[name].links {
		file, _, err := l.pages[name].goesTo(link.destination)
		if shown := l.shown(file); err == nil && file != "" && l.pages[shown].name != "" {
			to = append(to, shown)
		}
	}
	return to
}

// TestLinksAndPages: every link to the repository works, and every page is reachable from README.md. External links are not
// checked.
func TestLinksAndPages(t *testing.T) {
	l := readLibrary(repository(t))
	for _, problem := range l.problems() {
		t.Error(problem)
	}
	if len(l.pages) < 20 || len(l.named) < 20 || len(l.next(entry)) < 20 {
		t.Errorf("found only %d pages, %d links in other files, and %d links of %s", len(l.pages), len(l.named), len(l.next(entry)), entry)
	}
}

// repository returns every file of the repository, with the text of files that people write.
func repository(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(unversioned, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(file)
		if bytes.IndexByte(text, 0) >= 0 || slices.Contains(unwritten, filepath.Base(file)) {
			text = nil
		}
		texts[filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// unversioned are directories that are not in git: git's own, build output and packages of npm.
var unversioned = []string{".git", "bin", "dist", "node_modules"}

// unwritten are files that are generated, and this file, which names missing pages.
var unwritten = []string{"go.sum", "links_test.go"}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	texts := map[string]string{
		"README.md": "# One\n\n[docs](docs) [here](#one) [again](#two-1) [web](https://example.com) ![x](x.png)\n\n## Two\n\n## `Two`!\n",
		entry: "# Docs\n\n[a](a.md) [a](a.md#an_anchor-of-its-own) [up](../README.md#one) <https://example.com/x>\n" +
			"[out](../../x) [web](http://example.com) [at](/docs/a.md) [gone](a.md#gone) [no](b.md) [f](f)\n\n| table |\n|---|\n| [cell](c.md) |\n",
		"docs/a.md": "# A\n\n## an_anchor: of _its_ own\n\n```\n[code](no.md)\n```\n`[code](no.md)` [sample](../samples/s) [lost][nowhere]\n" +
			"[ours](" + home + "samples/s#x) [self](#a)",
		"docs/f/README.md": "[listed](listed.md)", "docs/f/listed.md": "[deep](deep.md)", "docs/f/deep.md": "",
		"docs/orphan.md": "[island](island.md)", "docs/island.md": "[orphan](orphan.md)",
		"samples/s": "", "main.go": "// docs/a.md#a says more, docs/a.md#b does not. docs/d.md",
	}
	files := map[string][]byte{}
	for name, text := range texts {
		files[name] = []byte(text)
	}
	want := []string{
		"README.md:3: x.png: x.png does not exist",
		"a file names docs/a.md#b: docs/a.md has no heading #b",
		"a file names docs/d.md: docs/d.md does not exist",
		"docs/README.md:4: ../../x: ../x does not exist",
		"docs/README.md:4: /docs/a.md: want https://, or a path from docs",
		"docs/README.md:4: a.md#gone: docs/a.md has no heading #gone",
		"docs/README.md:4: b.md: docs/b.md does not exist",
		"docs/README.md:4: http://example.com: want https://, or a path from docs",
		"docs/README.md:8: c.md: docs/c.md does not exist",
		"docs/a.md:8: lost][: want https://, or a path from docs",
		"docs/a.md:9: " + home + "samples/s#x: samples/s has no heading #x",
		"docs/f/deep.md: not linked from docs/README.md",
		"docs/island.md: not linked from docs/README.md",
		"docs/island.md: not reachable from README.md",
		"docs/orphan.md: not linked from docs/README.md",
		"docs/orphan.md: not reachable from README.md",
	}
	expect.Equal(t, "problems", want, readLibrary(files).problems())
}

// TestPagesNameTestsThatExist: every test that a page names exists in the package that the page names.
func TestPagesNameTestsThatExist(t *testing.T) {
	written := map[string][]string{}
	for _, s := range sources(t) {
		for _, declaration := range s.syntax.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && s.isTest && f.Recv == nil {
				written[f.Name.Name] = append(written[f.Name.Name], s.dir)
			}
		}
	}
	named := 0
	for name, text := range repository(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, list := range testNames.FindAllStringSubmatch(string(text), -1) {
			for _, test := range testName.FindAllString(list[2], -1) {
				named++
				in := func(dir string) bool { return list[1] == "" || strings.HasSuffix("/"+dir, "/"+list[1]) }
				if !slices.ContainsFunc(written[test], in) {
					t.Errorf("%s names %s, which does not exist in %q", name, test, list[1])
				}
			}
		}
	}
	if named < 200 {
		t.Errorf("found only %d tests on pages", named)
	}
}

// testNames match names of tests on a page, with the end of their directory if the page names it.
var (
	testNames = regexp.MustCompile("(?:`([a-z/-]+)`:\\s)?((?:`(?:Test|Fuzz)\\w+`(?:,\\s)?)+)")
	testName  = regexp.MustCompile(`(Test|Fuzz)\w+`)
)

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

	"github.com/google/go-cmp/cmp"
)

// library is everything that can be linked to.
type library struct {
	files map[string]bool // files and folders, by path from the root of the repository
	pages map[string]page
	named []link // pages as sources and charts name them; the line is 0
}

// readLibrary takes in files, whose texts are nil where nobody has to read them.
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

// pageName is a page with an anchor or without, as comments, messages and alerts name it.
var pageName = regexp.MustCompile(`\bdocs/[A-Za-z/-]+\.md(#[a-z0-9-]+)?`)

// check says what is wrong with a link of a page.
func (l library) check(p page, to link) string {
	file, anchor, err := p.goesTo(to.destination)
	switch {
	case err != nil:
		return err.Error()
	case file == "":
		return ""
	case !l.files[file]:
		return "there is no " + file
	case anchor != "" && !l.pages[l.shown(file)].anchors[anchor]:
		return fmt.Sprintf("%s has no heading #%s", file, anchor)
	default:
		return ""
	}
}

// shown is the page that GitHub shows for a file or folder.
func (l library) shown(file string) string {
	if readme := path.Join(file, "README.md"); l.files[readme] {
		return readme
	}
	return file
}

// problems are links that lead nowhere, and pages that nobody finds.
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
			wrong = append(wrong, name+": no way leads there from README.md")
		}
		if path.Dir(name) == "docs" && name != entry && !slices.Contains(l.next(entry), name) {
			wrong = append(wrong, fmt.Sprintf("%s: it is not in %s", name, entry))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// entry is the page that has all others of its folder.
const entry = "docs/README.md"

// reachable are the pages to which a way leads.
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

// next are the pages that a page links to.
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

// TestLinksAndPages: every link in the repository leads to something, and every page is found from README.md. What is
// outside of the repository is not asked for.
func TestLinksAndPages(t *testing.T) {
	l := readLibrary(repository(t))
	for _, problem := range l.problems() {
		t.Error(problem)
	}
	if len(l.pages) < 20 || len(l.named) < 20 || len(l.next(entry)) < 20 {
		t.Errorf("only %d pages, %d named elsewhere, and %d links of %s were found", len(l.pages), len(l.named), len(l.next(entry)), entry)
	}
}

// repository has every file of the repository, with the text of those that people write.
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

// unversioned is what no clone has: git's own, and what is built.
var unversioned = []string{".git", "bin", "dist"}

// unwritten is what nobody writes by hand, and this file, which names pages that are not there.
var unwritten = []string{"go.sum", "links_test.go"}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	texts := map[string]string{
		"README.md": "# One\n\n[docs](docs) [here](#one) [again](#two-1) [web](https://example.com) ![x](x.png)\n\n## Two\n\n## `Two`!\n",
		entry: "# Docs\n\n[a](a.md) [a](a.md#an_anchor-of-its-own) [up](../README.md#one) <https://example.com/x>\n" +
			"[out](../../x) [web](http://example.com) [at](/docs/a.md) [gone](a.md#gone) [no](b.md)\n\n| table |\n|---|\n| [cell](c.md) |\n",
		"docs/a.md": "# A\n\n## an_anchor: of _its_ own\n\n```\n[code](no.md)\n```\n`[code](no.md)` [sample](../samples/s) [lost][nowhere]\n" +
			"[ours](" + home + "samples/s#x) [self](#a)",
		"docs/orphan.md": "[island](island.md)", "docs/island.md": "[orphan](orphan.md)",
		"samples/s": "", "main.go": "// docs/a.md#a says more, docs/a.md#b does not. docs/d.md",
	}
	files := map[string][]byte{}
	for name, text := range texts {
		files[name] = []byte(text)
	}
	want := []string{
		"README.md:3: x.png: there is no x.png",
		"a file names docs/a.md#b: docs/a.md has no heading #b",
		"a file names docs/d.md: there is no docs/d.md",
		"docs/README.md:4: ../../x: there is no ../x",
		"docs/README.md:4: /docs/a.md: want https://, or a path from docs",
		"docs/README.md:4: a.md#gone: docs/a.md has no heading #gone",
		"docs/README.md:4: b.md: there is no docs/b.md",
		"docs/README.md:4: http://example.com: want https://, or a path from docs",
		"docs/README.md:8: c.md: there is no docs/c.md",
		"docs/a.md:8: lost][: want https://, or a path from docs",
		"docs/a.md:9: " + home + "samples/s#x: samples/s has no heading #x",
		"docs/island.md: it is not in docs/README.md",
		"docs/island.md: no way leads there from README.md",
		"docs/orphan.md: it is not in docs/README.md",
		"docs/orphan.md: no way leads there from README.md",
	}
	if diff := cmp.Diff(want, readLibrary(files).problems()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestPagesNameTestsThatExist: whoever wants to see a promise hold can run the test that a page names, in the package it names.
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
					t.Errorf("%s names %s, which is nowhere in %q", name, test, list[1])
				}
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d tests were found on pages", named)
	}
}

// testNames are the names of tests on a page, with the end of their directory where it stands before them.
var (
	testNames = regexp.MustCompile("(?:`([a-z/-]+)`:\\s)?((?:`(?:Test|Fuzz)\\w+`(?:,\\s)?)+)")
	testName  = regexp.MustCompile(`(Test|Fuzz)\w+`)
)

// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// longest is the maximum number of lines in a file. Most files should have a third of it.
const longest = 350

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines >= longest && !s.isTest {
			t.Errorf("%s has %d lines: split it by idea", s.name, s.lines)
		}
	}
}

func TestPackagesAreNamedAfterWhatTheyHold(t *testing.T) {
	for _, s := range sources(t) {
		if name := s.syntax.Name.Name; slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, name) {
			t.Errorf("%s is in package %s: name the package after its content", s.name, name)
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest && s.dir != "test" {
			continue
		}
		documented[s.dir] = documented[s.dir] || s.syntax.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

func TestEveryExportedNameHasAComment(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || s.isMain() {
			continue
		}
		for _, declaration := range s.syntax.Decls {
			for _, name := range bare(declaration) {
				t.Errorf("%s: %s has no comment", s.name, name)
			}
		}
	}
}

// TestCommentsBeginWithTheName: a comment of a function or type that begins with another name has outlived a rename.
func TestCommentsBeginWithTheName(t *testing.T) {
	for _, s := range sources(t) {
		for _, declaration := range s.syntax.Decls {
			name, doc := documented(declaration)
			if words := strings.Fields(doc.Text()); len(words) > 0 && strings.TrimRight(words[0], ",.:;") != name {
				t.Errorf("%s: the comment of %s begins with %q", s.name, name, words[0])
			}
		}
	}
}

// documented returns the name and the comment of a function or type; nothing if it has no comment. Tests and examples
// may begin with what they show.
func documented(declaration ast.Decl) (name string, doc *ast.CommentGroup) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if name := d.Name.Name; d.Doc != nil && !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Example") {
			return name, d.Doc
		}
	case *ast.GenDecl:
		if s, ok := d.Specs[0].(*ast.TypeSpec); ok && len(d.Specs) == 1 && d.Doc != nil {
			return s.Name.Name, d.Doc
		}
	}
	return "", nil
}

// bare returns the exported names of a declaration without a comment. One comment is enough for a group of values.
func bare(declaration ast.Decl) []string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && ofExported(d.Recv) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			names = append(names, bareSpec(spec, d.Doc != nil)...)
		}
		return names
	}
	return nil
}

func bareSpec(spec ast.Spec, groupHasComment bool) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && !groupHasComment {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && !groupHasComment {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// ofExported reports whether a function has no receiver, or a receiver of an exported type.
func ofExported(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	t := receiver.List[0].Type
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, ok := t.(*ast.Ident)
	return !ok || name.IsExported()
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// paragraph is text that belongs together, and the line where it begins in its file.
type paragraph struct {
	line int
	text string
}

// sentence is the pattern of literals that count as prose: three consecutive words. CEL, YAML and names seldom match.
var sentence = regexp.MustCompile(`[A-Za-z']+ [a-z']+ [a-z']+`)

// paragraphs returns the comments and sentences of a Go file, in no particular order.
func paragraphs(name string, source []byte) ([]paragraph, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var all []paragraph
	for _, group := range file.Comments {
		all = append(all, comment(files.Position(group.Pos()).Line, group.Text())...)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				n.Tag = nil
			}
		case *ast.BasicLit:
			all = append(all, literal(files.Position(n.Pos()).Line, n)...)
		}
		return true
	})
	return all, nil
}

// comment splits at empty lines and omits indented lines, like go doc.
func comment(line int, text string) []paragraph {
	var all []paragraph
	var open *paragraph
	for i, row := range strings.Split(text, "\n") {
		if trimmed := strings.TrimSpace(row); trimmed == "" || row != strings.TrimLeft(row, " \t") {
			open = nil
		} else if open != nil {
			open.text += " " + trimmed
		} else {
			all = append(all, paragraph{line: line + i, text: trimmed})
			open = &all[len(all)-1]
		}
	}
	return all
}

func literal(line int, n *ast.BasicLit) []paragraph {
	if n.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(n.Value)
	if err != nil {
		return nil
	}
	var all []paragraph
	for i, row := range strings.Split(text, "\n") {
		if n.Value[0] != '`' {
			i = 0
		}
		if sentence.MatchString(row) {
			all = append(all, paragraph{line: line + i, text: strings.TrimSpace(row)})
		}
	}
	return all
}

package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var knownFile = filepath.Join("test", "prose", "known.txt")

// count returns the number of findings of each file.
func count(found []finding) map[string]int {
	n := map[string]int{}
	for _, f := range found {
		n[f.file]++
	}
	return n
}

// readKnown reads the accepted number of findings of each page.
func readKnown() (map[string]int, error) {
	file, err := os.Open(knownFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	known := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &name, &n); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", knownFile, lines.Text(), err)
		}
		known[name] = n
	}
	return known, nil
}

// writeKnown writes the number of findings of each page. It ignores Go files.
func writeKnown(found []finding) error {
	n := count(found)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if strings.HasSuffix(name, ".md") {
			fmt.Fprintf(&text, "%s %d\n", name, n[name])
		}
	}
	return os.WriteFile(knownFile, []byte(text.String()), 0o644)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

func main() {
	paths := os.Args[1:]
	if len(paths) == 0 {
		paths = []string{root}
	}
	found, err := check(paths)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line, cmp.Compare(a.message, b.message))
	})
	for _, f := range found {
		fmt.Printf("%s:%d: %s\n", f.file, f.line, f.message)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

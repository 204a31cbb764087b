package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
)

// root is the directory in which the program runs. It contains the files to check and known.txt.
const root = "."

func main() {
	update := flag.Bool("update", false, "update test/prose/known.txt")
	flag.Parse()
	code, err := run(flag.Args(), *update)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		code = 2
	}
	os.Exit(code)
}

// run checks the files in these folders, or all files, and returns the exit code.
func run(paths []string, update bool) (int, error) {
	whole := len(paths) == 0
	if whole {
		paths = []string{root}
	}
	found, err := check(paths)
	if err != nil {
		return 0, err
	}
	if update && whole {
		return 0, writeKnown(found)
	}
	known, err := readKnown()
	if err != nil {
		return 0, err
	}
	code := 0
	for _, f := range found {
		if _, listed := known[f.file]; !listed || !whole {
			fmt.Printf("%s:%d: %s\n", f.file, f.line, f.message)
			code = 1
		}
	}
	if whole {
		code = max(code, compare(found, known))
	}
	return code, nil
}

// compare reports pages whose number of findings differs from the accepted one.
func compare(found []finding, known map[string]int) int {
	code := 0
	now := count(found)
	for file, was := range known {
		switch n := now[file]; {
		case n > was:
			fmt.Printf("%s: %d findings, %d accepted: run go run ./test/prose %s\n", file, n, was, file)
			code = 1
		case n < was:
			fmt.Printf("%s: %d findings, %d accepted: run go run ./test/prose -update\n", file, n, was)
			code = 1
		}
	}
	return code
}

func sortFindings(found []finding) {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line, cmp.Compare(a.message, b.message))
	})
}

package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
)

// root is where files are found, and known.txt: the program runs there.
const root = "."

func main() {
	update := flag.Bool("update", false, "write test/prose/known.txt again")
	flag.Parse()
	code, err := run(flag.Args(), *update)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		code = 2
	}
	os.Exit(code)
}

// run checks the files in these folders, or all, and returns the exit code.
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

// compare reports pages whose number of findings is not the known one.
func compare(found []finding, known map[string]int) int {
	code := 0
	now := count(found)
	for file, was := range known {
		switch n := now[file]; {
		case n > was:
			fmt.Printf("%s: %d findings, %d before: see go run ./test/prose %s\n", file, n, was, file)
			code = 1
		case n < was:
			fmt.Printf("%s: %d findings, %d before: run go run ./test/prose -update\n", file, n, was)
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

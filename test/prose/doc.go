// Command prose checks the English of this repository with vale: pages, and the comments and sentence-like literals
// (messages, help, test titles) of Go files. styles/Sunset contains the rules.
//
//	go run ./test/prose                   # everything
//	go run ./test/prose controllers docs  # these folders and files
//
// It prints one line for each finding and exits with 1 if there is one. known.txt lists the accepted number of findings of
// each page. More findings fail the check, and fewer fail it too, until `go run ./test/prose -update` has written the lower
// number. In Go files every finding fails the check.
package main

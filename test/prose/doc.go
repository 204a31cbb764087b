// Command prose checks the English of this repository with vale: pages, and in Go files comments and every literal
// that reads like a sentence (messages, help, test titles). styles/Sunset holds the rules.
//
//	go run ./test/prose                   # everything
//	go run ./test/prose controllers docs  # these folders and files
//
// It prints one line for each finding and exits with 1 if there is one. known.txt lists how many findings each page had
// when the check came: more of them fail, and fewer too, until `go run ./test/prose -update` has written the lower
// number. Go files have none.
package main

// SPDX-License-Identifier: Apache-2.0

// Command prose checks the English of this repository with vale: pages, and the comments and sentence-like literals
// (messages, help, test titles) of Go files. styles/Sunset contains the rules.
//
//	go run ./test/prose                   # everything
//	go run ./test/prose controllers docs  # these folders and files
//
// It runs in the root of the repository, prints one line for each finding, and exits with 1 if there is one.
package main

// Package report writes what the commands found: tables for people, JSON and YAML for programs.
//
// It promises that its output depends on nothing but its arguments, and that JSON and YAML are written row by row.
//
// It refuses to decide anything.
package report

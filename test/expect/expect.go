// SPDX-License-Identifier: Apache-2.0

// Package expect compares the result of a test with the expected one. It has no other assertions: for a condition with its
// own message write an if statement.
package expect

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal reports a difference between want and got without ending the test. An empty slice or map differs from nil unless
// the options say otherwise.
func Equal[T any](t testing.TB, what string, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// Golden reports a difference between a golden file and got, without ending the test. If update is true, it first writes got
// to the file.
func Golden(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	NoError(t, err)
	Equal(t, path, string(want), got)
}

// NoError ends the test if err is not nil. It must be called from the goroutine of the test.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

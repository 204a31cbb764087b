// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// The pause between two checks of a condition grows from the first to the second: most conditions hold soon, and each check is a
// request to the API server, beside those of all other tests.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = 300 * time.Millisecond
)

// TB is the part of testing.TB that Eventually needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Eventually calls check immediately, and then with growing pauses until it returns nil. After timeout it ends the test with check's
// last error. check must not block and must not end the test itself.
func Eventually(t TB, timeout time.Duration, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatalf("condition not met after %s: %v", timeout, err)
	}
}

// Want returns an error with this message unless ok: a whole check of Eventually. The arguments are evaluated in any case.
func Want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// WithYAML adds a value, such as a status, to an error that is not nil. The value is encoded when the error is printed: Eventually prints
// only the last one.
func WithYAML(err error, value any) error { return valueError{err, value} }

type valueError struct {
	error
	value any
}

func (e valueError) Error() string {
	data, _ := yaml.Marshal(e.value)
	return fmt.Sprintf("%v in:\n%s", e.error, data)
}

func (e valueError) Unwrap() error { return e.error }

// poll calls check until it returns nil. If ctx ends first, poll returns check's last error.
func poll(ctx context.Context, check func() error) error {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

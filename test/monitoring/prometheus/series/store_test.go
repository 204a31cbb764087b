// SPDX-License-Identifier: Apache-2.0

package series_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/sunset-k8s/sunset/test/monitoring/prometheus/series"
)

// TestSeriesMayEnd: a stale series has ended.
func TestSeriesMayEnd(t *testing.T) {
	s, err := series.Load("# of a test\na 1x2 stale\nb _ 2", time.Minute)
	if err != nil || len(s) != 2 || len(s[0].Floats) != 4 || !value.IsStaleNaN(s[0].Floats[3].F) || len(s[1].Floats) != 1 {
		t.Errorf("parsed as %v: %v", s, err)
	}
}

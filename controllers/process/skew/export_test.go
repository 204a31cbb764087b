// SPDX-License-Identifier: Apache-2.0

package skew

import "time"

// Check returns an error if two clocks may differ by more than Max.
func Check(date, sent, received time.Time) error { return check(skew(date, sent, received)) }

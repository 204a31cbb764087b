// SPDX-License-Identifier: Apache-2.0

package preview

import "fmt"

// ShownName returns the name for display: for an image its first tag or digest, because its ID is not readable.
func (r *Row) ShownName() string {
	switch {
	case r.Image == nil || r.Image.Name == "":
		return r.Name
	case r.Image.Tags > 1:
		return fmt.Sprintf("%s +%d", r.Image.Name, r.Image.Tags-1)
	default:
		return r.Image.Name
	}
}

// FormatBytes formats a number of bytes with three digits and decimal units, as crictl and docker do.
func FormatBytes(n int64) string {
	const units = "kMGTPE"
	value, unit := float64(n), ""
	for i := 0; value >= 999.5 && i < len(units); i++ {
		value, unit = value/1000, units[i:i+1]
	}
	if unit == "" {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%.3g%sB", value, unit)
}

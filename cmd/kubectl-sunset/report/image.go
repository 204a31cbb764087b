package report

import (
	"fmt"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// nameOf is what people know an object by: of an image its first tag or digest, as its ID says nothing to them.
func nameOf(row *preview.Row) string {
	switch {
	case row.Image == nil || row.Image.Name == "":
		return row.Name
	case row.Image.Tags > 1:
		return fmt.Sprintf("%s +%d", row.Image.Name, row.Image.Tags-1)
	default:
		return row.Image.Name
	}
}

func sizeOf(row *preview.Row) string {
	if row.Image == nil {
		return "-"
	}
	return size(row.Image.Bytes)
}

// inBytes stands behind a number of images.
func inBytes(n int64) string {
	if n == 0 {
		return ""
	}
	return " (" + size(n) + ")"
}

// size is a number of bytes, with three digits and decimal units as crictl and docker write it.
func size(n int64) string {
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

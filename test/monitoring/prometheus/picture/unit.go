// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strconv"
	"time"
)

// format formats a value in a unit of Grafana.
func format(v float64, unit string) string {
	switch unit {
	case "s":
		return seconds(v)
	case "percentunit":
		return number(v*100) + "%"
	case "ops", "reqps":
		return scaled(v, 1000, " ", "K ", "M ") + map[string]string{"ops": "ops/s", "reqps": "req/s"}[unit]
	case "Bps", "bytes":
		return scaled(v, 1024, " B", " KiB", " MiB", " GiB") + map[string]string{"Bps": "/s"}[unit]
	}
	return scaled(v, 1000, "", " K", " Mil")
}

// scaled formats a value with the largest suffix that it reaches.
func scaled(v, by float64, suffixes ...string) string {
	i := 0
	for ; math.Abs(v) >= by && i < len(suffixes)-1; i++ {
		v /= by
	}
	return number(v) + suffixes[i]
}

// number formats a value with three significant digits.
func number(v float64) string {
	digits := 2
	if v != 0 {
		digits = min(3, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		for text[len(text)-1] == '0' {
			text = text[:len(text)-1]
		}
		if text[len(text)-1] == '.' {
			text = text[:len(text)-1]
		}
	}
	return text
}

func seconds(v float64) string {
	switch {
	case v == 0:
		return "0 s"
	case v < 0.001:
		return number(v*1e6) + " µs"
	case v < 1:
		return number(v*1000) + " ms"
	case v < 60:
		return number(v) + " s"
	case v < 3600:
		return number(v/60) + " min"
	}
	return number(v/3600) + " hour"
}

// nice returns a step between ticks of which about n fit below top: 1, 2 or 5 times a power of ten.
func nice(top float64, n int) float64 {
	rough := top / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, of := range []float64{1, 2, 5} {
		if rough <= of*power {
			return of * power
		}
	}
	return 10 * power
}

// minutes formats the time of a step below a panel.
func minutes(since time.Duration) string { return strconv.Itoa(int(since.Minutes())) + " min" }

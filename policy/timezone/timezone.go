// SPDX-License-Identifier: Apache-2.0

// Package timezone has the time zones of the tz database, as they are in the Go distribution. All programs of one build have the
// same rules, which do not depend on the machine or on the environment. It does no I/O.
package timezone

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

//go:generate sh -c "cp \"$(go env GOROOT)/lib/time/zoneinfo.zip\" . && sed -n 's/^DATA=//p' \"$(go env GOROOT)/lib/time/update.bash\" > version.txt"

//go:embed zoneinfo.zip
var data []byte

//go:embed version.txt
var version string

var open = sync.OnceValues(func() (*zip.Reader, error) { return zip.NewReader(bytes.NewReader(data), int64(len(data))) })

// Version is the version of the tz database, such as 2025c.
func Version() string { return strings.TrimSpace(version) }

// Load returns the time zone of a name of the tz database, such as Europe/Berlin; UTC for an empty name. It is safe for concurrent use.
func Load(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	all, err := open()
	if err != nil {
		return nil, err
	}
	for _, f := range all.File {
		if f.Name == name && !strings.HasSuffix(name, "/") {
			return read(f)
		}
	}
	return nil, fmt.Errorf("unknown time zone %s", name)
}

func read(f *zip.File) (*time.Location, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	rules, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(f.Name, rules)
}

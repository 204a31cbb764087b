// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// read reads the samples of Sunset from the exported metrics of a program, and whether it leads.
func (r *recording) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "sunset_") && !strings.HasPrefix(line, "leader_election_master_status") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return err
		}
		r.add(line[:at], strconv.FormatFloat(value, 'g', 6, 64))
	}
	return lines.Err()
}

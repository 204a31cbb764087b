// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Demand is a condition that a setting must meet.
type Demand struct {
	Setting string
	Holds   bool
	Want    string // the condition in words, such as "at least 1"
}

// Check returns an error for the first demand that does not hold; nil if all hold.
func (f *Flags) Check(demands ...Demand) error {
	for _, d := range demands {
		if !d.Holds {
			return f.Wrong(d.Setting, fmt.Errorf("want %s, not %q", d.Want, f.Lookup(d.Setting).Value.String()))
		}
	}
	return nil
}

// Address demands an address to listen on, or a value that disables the endpoint: empty or "0".
func Address(setting, address string) Demand {
	holds := address == "" || address == "0"
	if host, port, err := net.SplitHostPort(address); err == nil {
		_, err := strconv.ParseUint(port, 10, 16)
		holds = err == nil && (host == "" || net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(host)) == 0)
	}
	return Demand{setting, holds, `a host, which may be empty, and a port, such as :8080, or "0"`}
}

// Namespaces demands valid namespace names.
func Namespaces(setting string, names ...string) Demand {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return Demand{setting, false, "valid namespace names"}
		}
	}
	return Demand{setting, true, ""}
}

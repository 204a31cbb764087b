package program

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Demand is what has to hold for a setting.
type Demand struct {
	Setting string
	Holds   bool
	Want    string // what holds, as in "at least 1"
}

// Check gives an error about the first demand that does not hold.
func (f *Flags) Check(demands ...Demand) error {
	for _, d := range demands {
		if !d.Holds {
			return f.Wrong(d.Setting, fmt.Errorf("want %s, not %q", d.Want, f.Lookup(d.Setting).Value.String()))
		}
	}
	return nil
}

// Address demands an address to serve at, or what means nowhere.
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

package scene

import "testing"

// Main is the body of TestMain. It returns the code for os.Exit. Control planes start when the first scene needs them.
func Main(m *testing.M) int { return m.Run() }

// Short marks a scenario that every run of the tests includes. It runs beside others.
func Short(t *testing.T) {}

// Long marks a scenario that only runs with SUNSET_FAULTS=all in the environment, as in make faults. It runs beside others.
func Long(t *testing.T) {}

// Seed is where the random choices of this run begin: what -seed says, or a new number.
func Seed() int64 { return 0 }

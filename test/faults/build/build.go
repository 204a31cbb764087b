package build

import "testing"

// Variable is the environment variable that says what Default builds: Plain is "plain" or empty, Race is "race", and every
// other value is a mutant's name. So a scenario that runs in a test process of its own can be made to judge a mutant.
const Variable = "SUNSET_FAULTS_BUILD"

// Default is the path of the controller that replicas run when a scene does not say otherwise.
func Default(t testing.TB) string { return "" }

// Plain is the path of the controller as it is.
func Plain(t testing.TB) string { return "" }

// Race is the path of a controller with the race detector.
func Race(t testing.TB) string { return "" }

// Clocked is the path of a controller that reads a Clock. Without one (see Clock.Env) it reads the machine's.
func Clocked(t testing.TB) string { return "" }

// Mutant is the path of a controller that lacks a safety mechanism. name is one of Mutants.
func Mutant(t testing.TB, name string) string { return "" }

// Mutants are the names of all mutants, sorted.
func Mutants() []string { return nil }

// Remove removes what was built, at the end of a test process.
func Remove() {}

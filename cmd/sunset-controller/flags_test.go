// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestFlagsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"an unknown flag":             {"--no-such-flag", "unknown flag"},
		"an argument":                 {"batch", `unexpected argument "batch"`},
		"no kind":                     {"--allow-kinds=.batch", "--allow-kinds"},
		"no such file":                {"--kubeconfig=/no/such/file", "find the API server: stat /no/such/file"},
		"a duration without a unit":   {"--leader-elect-lease-duration=15", "invalid argument"},
		"a short lease":               {"--leader-elect-lease-duration=10s", "--leader-elect-lease-duration: want more than leader-elect-renew-deadline, not \"10s\""},
		"a slow retry":                {"--leader-elect-retry-period=9s", "--leader-elect-renew-deadline: want more than 1.2 times leader-elect-retry-period"},
		"no retry":                    {"--leader-elect-retry-period=0s", "--leader-elect-retry-period: want more than 0s"},
		"no deletion":                 {"--max-in-flight=0", "--max-in-flight: want at least 1"},
		"a negative rate":             {"--max-deletions-per-second=-1", "--max-deletions-per-second: want a number, 0 or more"},
		"a rate that is not a number": {"--max-deletions-per-second=NaN", "--max-deletions-per-second: want a number, 0 or more"},
		"no port":                     {"--metrics-bind-address=localhost", "--metrics-bind-address: want a host"},
		"a high port":                 {"--webhook-bind-address=:94430", "--webhook-bind-address: want a host"},
		"a URL of a collector":        {"--tracing-endpoint=http://localhost:4318", "--tracing-endpoint: "},
		"a rate above a million":      {"--tracing-sampling-rate-per-million=1000001", "--tracing-sampling-rate-per-million: want 0 to 1000000"},
		"an unknown format":           {"--audit-records=json", `--audit-records: want Log, CloudEvents, None, not "json"`},
		"a price without a currency":  {"--prices=PersistentVolumeClaim=0.10", "--prices: there are prices, but no currency"},
		"no namespace":                {"--namespace=", "--namespace: want valid namespace names"},
		"a pattern":                   {"--protected-namespaces=kube-*", "--protected-namespaces: want valid namespace names"},
		"no cluster":                  {"--leader-elect=false", "find the API server: the program does not run in a Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]string{test.arg}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// TestLeaseIsWrittenInWholeSeconds: client-go truncates the lease duration to whole seconds, after which another process
// acquires the Lease. A leader that deletes for longer would be a second leader.
func TestLeaseIsWrittenInWholeSeconds(t *testing.T) {
	for _, test := range []struct{ lease, renew, retry string }{{"10900ms", "10500ms", "2s"}, {"1900ms", "1800ms", "1s"}} {
		_, err := parse([]string{
			"--leader-elect-lease-duration=" + test.lease, "--leader-elect-renew-deadline=" + test.renew, "--leader-elect-retry-period=" + test.retry,
		})
		if err == nil || !strings.Contains(err.Error(), "--leader-elect-lease-duration: want") {
			t.Errorf("renew deadline %s is longer than lease duration %s in whole seconds: %v", test.renew, test.lease, err)
		}
	}
}

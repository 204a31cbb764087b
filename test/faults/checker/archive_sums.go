// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// recorded is a version of an object that an archive has a record of.
type recorded struct {
	uid             types.UID
	resourceVersion string
}

// sums checks that ledgers count exactly the versions that archives have as deleted or gone. It leaves out policies whose rules did not
// always archive to the same RetentionArchive.
func (j *checker) sums() {
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		for _, s := range j.finally(kind) {
			ledger, archive := j.ledgerOf(s), j.Archives[j.archiveOf(s)]
			if ledger != nil && archive != nil {
				j.sum(s, ledger, archive)
			}
		}
	}
}

// archiveOf returns the RetentionArchive of all rules that a policy ever had; empty if they differ, or if an earlier policy had the
// same name, because records have only the name.
func (j *checker) archiveOf(s *history.State) (to string) {
	for _, c := range j.Log.Of(s.Key) {
		if c.After == nil {
			return ""
		}
		for _, r := range j.policyOf(c.After).rules {
			if r.Archive == nil || to != "" && r.Archive.To != to {
				return ""
			}
			to = r.Archive.To
		}
	}
	return to
}

// sum compares a ledger with an archive. The result of a record is written before the ledger counts the deletion, so that versions with
// an open entry may have a result and not be counted. A version with records of several policies may be counted by any of them.
func (j *checker) sum(s *history.State, ledger *v1alpha1.RetentionLedger, archive *history.Archive) {
	name, open := j.policyOf(s).name, openIn(ledger)
	var least, most int64
	for version, policies := range removedIn(archive) {
		if !slices.Contains(policies, name) {
			continue
		}
		most++
		if len(policies) == 1 && !open[version] {
			least++
		}
	}
	if n := whole(ledger); n < least || n > most {
		j.violated(Recorded, history.Request{}, s, 0, fmt.Sprintf(
			"the ledger counts %d objects, but RetentionArchive %q has between %d and %d as deleted or gone", n, j.archiveOf(s), least, most))
	}
}

// removedIn returns the policies with a record of each version that an archive has as deleted or gone.
func removedIn(archive *history.Archive) map[recorded][]string {
	policies, removed := map[recorded][]string{}, map[recorded][]string{}
	for _, r := range archive.Records {
		version := recorded{r.Object.GetUID(), r.Object.GetResourceVersion()}
		if !slices.Contains(policies[version], r.Policy) {
			policies[version] = append(policies[version], r.Policy)
		}
	}
	for _, r := range archive.Results {
		version := recorded{r.UID, r.ResourceVersion}
		if r.Result == "deleted" || r.Result == "gone" {
			removed[version] = policies[version]
		}
	}
	return removed
}

func openIn(ledger *v1alpha1.RetentionLedger) map[recorded]bool {
	open := map[recorded]bool{}
	for _, intents := range ledger.Open {
		for _, line := range intents.Objects {
			open[recorded{uidIn(line), versionIn(line)}] = true
		}
	}
	return open
}

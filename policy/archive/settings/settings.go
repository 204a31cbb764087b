// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Settings are the fields of a spec whose values need parsing.
type Settings struct {
	Retain     time.Duration // zero: Sunset deletes nothing
	Recipients []age.Recipient
}

// retainLeast is the minimum of spec.retain: a record must not expire before Sunset deletes its object.
const retainLeast = 24 * time.Hour

// Parse reads a RetentionArchive from JSON, and returns all problems of its fields. It is nil if it cannot be read.
func Parse(data []byte) (*v1alpha1.RetentionArchive, []policy.Problem) {
	a, problems := policy.ParseStrict[v1alpha1.RetentionArchive](data)
	if a == nil {
		return nil, problems
	}
	if err := checkURL(a.Spec); err != nil {
		problems = append(problems, policy.Problem{Path: "spec.url", Message: err.Error()})
	}
	_, others := Load(a.Spec)
	return a, append(problems, others...)
}

// Load reads a spec, except url: see ParseURL. With problems, the Settings are not complete. No problem has the text of a recipient,
// since it may be a private key by mistake.
func Load(s v1alpha1.ArchiveSpec) (l Settings, problems []policy.Problem) {
	at := func(path, message, hint string) {
		problems = append(problems, policy.Problem{Path: path, Message: message, Hint: hint})
	}
	if s.Retain != "" {
		retain, err := policy.ParseTTL(s.Retain)
		switch {
		case err != nil:
			at("spec.retain", err.Error(), policy.TTLHint(s.Retain))
		case retain < retainLeast:
			at("spec.retain", "it is shorter than a day", "write 1d or more")
		}
		l.Retain = retain
	}
	for i, hold := range s.LegalHolds {
		if !slices.ContainsFunc(nameForms, func(form string) bool { return begins(form, hold) }) {
			at(fmt.Sprintf("spec.legalHolds[%d]", i), fmt.Sprintf("no name of an object begins with %q", hold), "write a prefix such as segments/2026/11/")
		}
	}
	if s.Encryption == nil {
		return l, problems
	}
	for i, text := range s.Encryption.Recipients {
		r, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil || len(r) != 1 {
			at(fmt.Sprintf("spec.encryption.recipients[%d]", i), "it is not a public key of age", "write the line that age-keygen -y prints, which begins with age1")
		}
		l.Recipients = append(l.Recipients, r...)
	}
	return l, problems
}

// nameForms are the forms of the names of objects with records: see archive-format.md. A 0 stands for a digit.
var nameForms = []string{
	"segments/0000/00/00/00000000T000000Z-", "index/0000/00/00/00000000T000000Z-", "parquet/month=0000-00/00000000-",
}

// begins reports whether a name of a form can begin with a prefix.
func begins(form, prefix string) bool {
	for n := range min(len(form), len(prefix)) {
		if digit := prefix[n] >= '0' && prefix[n] <= '9'; form[n] == '0' && !digit || form[n] != '0' && form[n] != prefix[n] {
			return false
		}
	}
	return true
}

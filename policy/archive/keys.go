// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// ParseRecipients reads public keys of age: age1... and age1pq1.... The errors name the position and not the text, since the text
// may be a private key by mistake.
func ParseRecipients(texts []string) ([]age.Recipient, error) {
	recipients := make([]age.Recipient, 0, len(texts))
	for i, text := range texts {
		r, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil || len(r) != 1 {
			return nil, fmt.Errorf("recipients[%d] is not a public key of age; write the line that age-keygen -y prints, which begins with age1", i)
		}
		recipients = append(recipients, r...)
	}
	return recipients, nil
}

// ParseIdentities reads private keys of age: the content of a file that age-keygen writes. The error does not contain the text.
func ParseIdentities(text string) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, errors.New("not the private keys of age; give a file that age-keygen writes, with lines that begin with AGE-SECRET-KEY-1")
	}
	return identities, nil
}

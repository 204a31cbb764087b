// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"strings"

	"filippo.io/age"
)

// ParseIdentities reads private keys of age: the content of a file that age-keygen writes. The error does not contain the text.
func ParseIdentities(text string) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, errors.New("not the private keys of age; give a file that age-keygen writes, with lines that begin with AGE-SECRET-KEY-1")
	}
	return identities, nil
}

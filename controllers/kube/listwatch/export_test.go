// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

// Events reads a watch.
func Events(body io.ReadCloser, d Decoder) watch.Decoder { return newAnswer(body, d) }

// Page reads a page of a list.
func Page(data string, d Decoder) (*List, error) {
	return newAnswer(io.NopCloser(strings.NewReader(data)), d).page()
}

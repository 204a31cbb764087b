// SPDX-License-Identifier: Apache-2.0

package listwatch

import "k8s.io/client-go/rest"

// Body returns the body of a response. Its error has the message of the API server, which the error of Raw alone does not have.
func Body(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

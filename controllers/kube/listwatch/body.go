package listwatch

import "k8s.io/client-go/rest"

// Body gives an answer, or the error in the words of the API server, which Raw by itself does not have.
func Body(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

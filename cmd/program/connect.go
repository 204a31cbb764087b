// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sunset-k8s/sunset/controllers/process/version"
)

var errNoPod = errors.New("the program does not run in a Pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): set --kubeconfig")

// Connect returns the client configuration for the API server. It sends no request.
func (f *Flags) Connect() (*rest.Config, error) {
	config, err := f.find()
	if errors.Is(err, rest.ErrNotInCluster) {
		err = errNoPod
	}
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = version.Get().UserAgent(f.program)
	return config, nil
}

func (f *Flags) find() (*rest.Config, error) {
	if f.kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", f.kubeconfig)
}

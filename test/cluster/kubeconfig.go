// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// UserConfig returns a configuration with a new client certificate for a user. RBAC subjects refer to its name and groups.
// A user without bindings has almost no permissions. The configuration has no client-side rate limit.
func (c *Cluster) UserConfig(name string, groups ...string) (*rest.Config, error) {
	return c.userConfig(c.admin.Host, name, groups...)
}

// UserConfigAt is UserConfig for the named API server.
func (c *Cluster) UserConfigAt(server Component, name string, groups ...string) (*rest.Config, error) {
	url := c.URL(server)
	if server.program() != APIServer || url == "" {
		return nil, fmt.Errorf("this cluster has no API server %s", server)
	}
	return c.userConfig(url, name, groups...)
}

func (c *Cluster) userConfig(host, name string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.client(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            host,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem, CertData: pair.cert, KeyData: pair.key},
	}, nil
}

// writeAdmin creates the administrator's configuration and its kubeconfig file.
func (c *Cluster) writeAdmin(host string) (err error) {
	if c.admin, err = c.userConfig(host, "admin", "system:masters"); err != nil {
		return err
	}
	return WriteKubeconfig(c.Kubeconfig(), c.admin)
}

// WriteKubeconfig writes a self-contained kubeconfig file for a configuration that Config or UserConfig returned. Only its
// owner can read it.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "sunset-test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

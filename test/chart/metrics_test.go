// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// scraped reads metrics as Prometheus does, with the token of a ServiceAccount that the chart authorizes. Other clients get
// no metrics.
func (s *server) scraped(address string) {
	s.Helper()
	for name, test := range map[string]struct {
		token string
		code  int
		says  string
	}{
		"without a token":       {"", http.StatusUnauthorized, ""},
		"another account":       {s.token("passer-by"), http.StatusForbidden, ""},
		"an authorized account": {s.token("prometheus"), http.StatusOK, "sunset_build_info{"},
	} {
		cluster.Eventually(s, patience, func() error {
			code, text, err := get("https://"+address+"/metrics", test.token)
			if err == nil && (code != test.code || !strings.Contains(text, test.says)) {
				err = fmt.Errorf("%s: status %d, want %d and %s", name, code, test.code, test.says)
			}
			return err
		})
	}
}

// token returns a token of a new ServiceAccount in the team's namespace.
func (s *server) token(account string) string {
	s.Helper()
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: account}}
	s.create(of)
	request := &authenticationv1.TokenRequest{}
	expect.NoError(s, s.SubResource("token").Create(s.Context(), of, request))
	return request.Status.Token
}

func get(url, token string) (code int, text string, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	trusting := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := trusting.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

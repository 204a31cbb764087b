// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestRequestThatDoesNotEndDelaysNoShutdown: controller-runtime stops the webhook first, and the rest of the shutdown time is
// for the leader's deletions. A review takes at most 8s, but any client of the port can open a request and never end it.
func TestRequestThatDoesNotEndDelaysNoShutdown(t *testing.T) {
	dir := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	expect.NoError(t, err)
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	address := free.Addr().String()
	_ = free.Close()
	server := &admission.Server{
		Serving: admission.Serving{Address: address, CertDir: dir},
		Rest:    &rest.Config{Host: "http://127.0.0.1:1"}, Scheme: runtime.NewScheme(), Namespace: "sunset-system", Clock: clock.RealClock{},
		Handler: webhook.HandlerFunc(func(context.Context, webhook.Request) webhook.Response { return webhook.Allowed("") }),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Start(ctx)
	}()
	var held net.Conn
	for end := time.Now().Add(time.Minute); held == nil; {
		if held, err = unfinished(address); err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	defer func() { _ = held.Close() }()
	stop()
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // controller-runtime would wait for a minute
		t.Error("the webhook still waits for a request 30s after the shutdown began")
	}
}

// unfinished opens a request that does not end, and returns its connection when the webhook reads its body.
func unfinished(address string) (net.Conn, error) {
	held, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(held, "POST %s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{", admission.Path)
	line := ""
	if err == nil {
		line, err = bufio.NewReader(held).ReadString('\n')
	}
	if err == nil && !strings.Contains(line, "100 Continue") {
		err = fmt.Errorf("the webhook responds with %q", line)
	}
	if err != nil {
		_ = held.Close()
		return nil, err
	}
	return held, nil
}

// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// echo is a server that sends back what it receives.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(connection, connection) }()
		}
	}()
	return listener.Addr().String()
}

func TestRelayThatStopsAndGoesOn(t *testing.T) {
	relay, err := cluster.NewRelay(echo(t))
	expect.NoError(t, err)
	connect := func() (net.Conn, func() (string, error)) {
		connection, err := net.Dial("tcp", relay.Address())
		expect.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		lines := bufio.NewReader(connection)
		return connection, func() (string, error) {
			_ = connection.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
			return lines.ReadString('\n')
		}
	}
	connection, heard := connect()
	say := func(what string) {
		if _, err := fmt.Fprintln(connection, what); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	cluster.Eventually(t, time.Minute, func() error { _, err := heard(); return err })
	relay.Stall()
	say("two")
	if line, err := heard(); err == nil {
		t.Errorf("%q passed a stalled relay", line)
	}
	relay.Heal()
	cluster.Eventually(t, time.Minute, func() error { _, err := heard(); return err })
	relay.Cut()
	cluster.Eventually(t, time.Minute, func() error {
		_, err := heard()
		return cluster.Want(err == io.EOF, "error of a cut connection: %v", err)
	})
	_, heard = connect()
	cluster.Eventually(t, time.Minute, func() error {
		_, err := heard()
		return cluster.Want(err == io.EOF, "error of a new connection: %v", err)
	})
	relay.Heal()
	connection, heard = connect()
	say("three")
	cluster.Eventually(t, time.Minute, func() error { _, err := heard(); return err })
}

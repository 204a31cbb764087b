// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestProgressOnATerminal: if a response takes more than two seconds, commands show on a terminal what they have read before, and erase
// it at the end.
func TestProgressOnATerminal(t *testing.T) {
	const ledgers = "/apis/sunset-k8s.io/v1alpha1/retentionledgers"
	t.Setenv("TERM", "xterm")
	for name, test := range map[string]struct {
		args []string
		slow string // the path of the response
		want string
	}{
		"status": {[]string{"status"}, policiesPath, "2 policies read"},
		"rbac":   {[]string{"rbac"}, policiesPath, "2 objects read"},
		"who":    {[]string{"who", "job/report"}, ledgers, "1 lines and objects read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStatuses(t)
			s.list("/apis/events.k8s.io/v1/namespaces/dev/events", "events.k8s.io/v1", "Event", []string{`{"metadata":{"name":"e1","namespace":"dev"}}`})
			s.list(ledgers, "sunset-k8s.io/v1alpha1", "RetentionLedger", nil)
			terminal, screen := fixture.Terminal(t, 80)
			shown, read := make(chan struct{}), make(chan string)
			go func() { // until the terminal is closed
				var all strings.Builder
				for buffer := make([]byte, 1024); ; {
					n, err := screen.Read(buffer)
					before := strings.Contains(all.String(), test.want)
					all.Write(buffer[:n])
					if !before && strings.Contains(all.String(), test.want) {
						close(shown)
					}
					if err != nil {
						read <- all.String()
						return
					}
				}
			}()
			s.proxied = map[string]http.HandlerFunc{test.slow: func(w http.ResponseWriter, _ *http.Request) {
				select {
				case <-shown:
				case <-time.After(time.Minute):
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, s.pages[test.slow][0])
			}}
			var out bytes.Buffer
			command.Run(t.Context(), s.args(t, test.args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: terminal}, now)
			_ = terminal.Close()
			const erased = "\r\x1b[K"
			if got := <-read; !strings.Contains(got, erased+test.want+erased) || strings.Contains(out.String(), test.want) {
				t.Errorf("on the terminal:\n%q\nin the output:\n%s", got, out.String())
			}
		})
	}
}

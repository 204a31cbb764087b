// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// gateway is the JSON gateway of an etcd with one event for each revision: the name of the object that it stores, or removes with a
// minus sign.
type gateway struct {
	events []string
	sent   atomic.Int64
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/range") {
		_, _ = fmt.Fprintf(w, `{"header":{"revision":"%d"}}`, len(g.events))
		return
	}
	var request struct {
		Create struct {
			Start string `json:"start_revision"`
		} `json:"create_request"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	start, _ := strconv.Atoi(request.Create.Start)
	for i, name := range g.events[start-1:] {
		g.sent.Add(1)
		name, removed := strings.CutPrefix(name, "-")
		kv := fmt.Sprintf(`"key":"%s","mod_revision":"%d"`, base64.StdEncoding.EncodeToString([]byte("/registry/configmaps/a/"+name)), start+i)
		if removed {
			_, _ = fmt.Fprintf(w, `{"result":{"events":[{"type":"DELETE","kv":{%s}}]}}`, kv)
			continue
		}
		value := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"a","uid":"of-%s"}}`, name, name)
		_, _ = fmt.Fprintf(w, `{"result":{"events":[{"kv":{%s,"value":"%s"}}]}}`, kv, base64.StdEncoding.EncodeToString([]byte(value)))
	}
}

// TestEtcdReadsEachEventOnce, unless etcd is restored to an earlier state.
func TestEtcdReadsEachEventOnce(t *testing.T) {
	g, e := &gateway{}, &history.Etcd{}
	server := httptest.NewServer(g)
	defer server.Close()
	for _, test := range []struct {
		events  string
		sent    int // by etcd, with the last event that is known; 0 if it depends on the time
		changes int
	}{
		{"a b", 2, 2}, {"a b c -a", 3, 4}, {"a b c -a", 1, 4}, {"a b", 2, 2}, {"a b d e", 3, 4}, {"a b f g h", 0, 5},
	} {
		g.events = strings.Fields(test.events)
		g.sent.Store(0)
		l, err := e.Read(t.Context(), server.URL, "/registry/")
		expect.NoError(t, err)
		expect.Equal(t, test.events+": changes", test.changes, len(l.Changes))
		expect.Equal(t, test.events+": revision", int64(len(g.events)), l.Revision)
		for i, name := range g.events {
			expect.Equal(t, "key", "/registry/configmaps/a/"+strings.TrimPrefix(name, "-"), l.Changes[i].Key)
			expect.Equal(t, "gone", strings.HasPrefix(name, "-"), l.Changes[i].Gone())
		}
		if test.sent > 0 {
			expect.Equal(t, test.events+": events that etcd has sent", test.sent, int(g.sent.Load()))
		}
	}
}

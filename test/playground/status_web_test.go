// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	served  = "application/json"
	ofBatch = `"groupVersion":"batch/v1"`
)

// cluster is what an API server answers, by path: twelve Jobs and two policies. All names but those of the namespace are one text.
func cluster(name string) map[string]string {
	list := func(kind, apiVersion string, items ...string) string {
		return fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"7"},"items":[%s]}`, kind, apiVersion, strings.Join(items, ","))
	}
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"EvaluationFailed","message":%s,"lastTransitionTime":"2026-03-01T00:00:00Z"}`, kind, status, quote("message of "+name))
	}
	policy := func(number int, eligible string) string {
		soonest := fmt.Sprintf(`{"namespace":"team-a","name":%s,"dueTime":"2026-03-03T00:00:00Z"}`, quote(name))
		return fmt.Sprintf(`{"metadata":{"name":%s,"generation":1},"spec":{"mode":"Enforce","rules":[{"name":"r","target":{"apiVersion":"batch/v1","kind":"Job"},"eligible":%q,
			"startTime":"object.metadata.creationTimestamp","ttl":"2d"}]},"status":{"observedGeneration":1,"matched":12,"conditions":[%s,%s],"rules":[{"name":"r","soonest":[%s]}]}}`,
			quote(fmt.Sprintf("%s%d", name, number)), eligible, condition("Ready", "False"), condition("Enforcing", "True"), soonest)
	}
	var jobs []string
	for i := range 12 {
		jobs = append(jobs, fmt.Sprintf(`{"metadata":{"name":%s,"namespace":"team-a","uid":"u%d","resourceVersion":"5","creationTimestamp":"2026-02-%02dT12:00:00Z"}}`,
			quote(fmt.Sprintf("%s-%d", name, i)), i, 17+i))
	}
	const own = "sunset-k8s.io/v1alpha1"
	return map[string]string{
		"/api":                `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":               `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"batch","versions":[{` + ofBatch + `,"version":"v1"}],"preferredVersion":{` + ofBatch + `,"version":"v1"}}]}`,
		"/api/v1":             `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"namespaces","singularName":"namespace","kind":"Namespace","namespaced":false,"verbs":["list"]}]}`,
		"/apis/batch/v1":      `{"kind":"APIResourceList","apiVersion":"v1",` + ofBatch + `,"resources":[{"name":"jobs","singularName":"job","kind":"Job","namespaced":true,"verbs":["list"]}]}`,
		"/apis/batch/v1/jobs": list("Job", "batch/v1", jobs...),
		"/api/v1/namespaces":  list("Namespace", "v1", `{"metadata":{"name":"team-a"}}`),
		"/apis/" + own + "/clusterretentionpolicies": list("ClusterRetentionPolicy", own, policy(0, "true"), policy(1, "[][0] == 1")),
		"/apis/" + own + "/retentionpolicies":        list("RetentionPolicy", own),
	}
}

// openStatus runs kubectl sunset status --web, and opens its first page.
func openStatus(t *testing.T, answers map[string]string) *tab {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, found := answers[r.URL.Path]
		if !found || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", served)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECACHEDIR", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan int)
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: io.Discard}
		done <- command.Run(ctx, []string{"status", "--web", "--server", server.URL}, streams, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	}()
	t.Cleanup(func() { stop(); <-done })
	line, err := bufio.NewReader(read).ReadString('\n')
	expect.NoError(t, err)
	b := openBrowser(t)
	b.show(regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`).FindString(line))
	return b
}

// TestStatusPagesAreAccessible checks each look of both pages, and moves between them with the keyboard.
func TestStatusPagesAreAccessible(t *testing.T) {
	b := openStatus(t, cluster("report"))
	follow := func(title string) {
		t.Helper()
		b.tabTo("nav a:not([href='./'])")
		b.press(kb.Enter)
		b.waitFor(`document.querySelector("h1")?.textContent === ` + quote(title))
	}
	for name, look := range someLooks() {
		b.look(look.scheme, look.width, look.height)
		b.waitFor(`document.querySelector("h1")?.textContent === "Status of policies"`)
		b.checkLook("status-"+name, wholePage)
		follow("Preview of deletions")
		b.checkLook("status-preview-"+name, wholePage)
		b.tabTo("th button")
		b.press(kb.Enter)
		expect.Equal(t, "order", "ascending", value[string](b, `document.activeElement.parentElement.getAttribute("aria-sort")`))
		b.run(`document.activeElement.blur()`)
		b.show(value[string](b, `new URL("./", location.href).href`))
	}
	for _, want := range []string{"report0", "EvaluationFailed", "message of report"} {
		if !value[bool](b, `document.body.textContent.includes(`+quote(want)+`)`) {
			t.Errorf("the status does not show %q", want)
		}
	}
}

// TestStatusPagesShowHostileInputAsText: an author of policies and Jobs chooses the names and messages that others see.
func TestStatusPagesShowHostileInputAsText(t *testing.T) {
	b := openStatus(t, cluster(hostileHTML))
	b.isNotHacked(4)
	b.show(value[string](b, `new URL("preview", location.href).href`))
	b.isNotHacked(12)
}

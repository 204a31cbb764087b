package integration_test

import (
	"regexp"
	"strconv"

	"k8s.io/client-go/kubernetes"
)

// lists counts the LIST and WATCHLIST requests for a resource that the API server has answered since it started.
func (w *world) lists(resource string) int {
	w.Helper()
	set, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		w.Fatal(err)
	}
	data, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	total := 0
	counters := regexp.MustCompile(`(?m)^apiserver_request_total\{[^}]*resource="` + resource + `"[^}]*verb="(?:LIST|WATCH|WATCHLIST)"[^}]*\} (\d+)`)
	for _, match := range counters.FindAllSubmatch(data, -1) {
		n, err := strconv.Atoi(string(match[1]))
		if err != nil {
			w.Fatal(err)
		}
		total += n
	}
	return total
}

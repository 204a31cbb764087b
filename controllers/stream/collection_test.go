package stream_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/stream"
)

// server answers with two pages, or with a watch that ends, and notes what it was asked.
type server struct{ requests []*http.Request }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":"9","continue":"more"},"items":[%s]}`, job)
	switch query := r.URL.Query(); {
	case query.Get("watch") == "true":
		body = event("ADDED", job)
	case query.Get("continue") == "more":
		body = fmt.Sprintf(`{"metadata":{"resourceVersion":"9"},"items":[%s]}`, other)
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// TestEveryRequestAsksForTheSame: pages and watches are of the same objects, in the same form.
func TestEveryRequestAsksForTheSame(t *testing.T) {
	for name, test := range map[string]struct {
		collection stream.Collection
		selector   string
		metadata   bool
	}{
		"everything":                {stream.Collection{}, "", false},
		"metadata":                  {stream.Collection{MetadataOnly: true}, "", true},
		"the metadata of some only": {stream.Collection{MetadataOnly: true, FieldSelector: "type!=a"}, "type!=a", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := &server{}, test.collection
			c.Path, c.Decoder = []string{"/apis/batch/v1", "jobs"}, decoder{}
			config := &rest.Config{Host: "http://server"}
			config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
			client, err := rest.UnversionedRESTClientForConfigAndClient(config, &http.Client{Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			c.Client = client
			all, err := c.All(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "objects", 2, len(all.Items))
			watch, err := c.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "9"})
			if err != nil {
				t.Fatal(err)
			}
			events := 0
			for range watch.ResultChan() {
				events++
			}
			expect(t, "events", 1, events)
			expect(t, "requests", 3, len(s.requests))
			for _, r := range s.requests {
				expect(t, "path", "/apis/batch/v1/jobs", r.URL.Path)
				expect(t, "selector", test.selector, r.URL.Query().Get("fieldSelector"))
				expect(t, "asks for metadata alone", test.metadata, strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata"))
			}
		})
	}
}

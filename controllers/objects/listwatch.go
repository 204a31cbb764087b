package objects

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	acceptJSON = "application/json"
	// The metadata of objects, without their spec and status.
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// listWatch lists and watches one kind in all namespaces, as observations. It implements cache.ListerWatcherWithContext.
type listWatch struct {
	client       *rest.RESTClient
	resource     string
	metadataOnly bool
	decoder      *decoder
}

func newListWatch(cfg *rest.Config, client *http.Client, resource schema.GroupVersionResource, d *decoder) (*listWatch, error) {
	c := rest.CopyConfig(cfg)
	gv := resource.GroupVersion()
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	c.NegotiatedSerializer = negotiator{d}
	restClient, err := rest.RESTClientForConfigAndClient(c, client)
	if err != nil {
		return nil, err
	}
	return &listWatch{client: restClient, resource: resource.Resource, decoder: d}, nil
}

func (lw *listWatch) request(options metav1.ListOptions, metadata string) *rest.Request {
	accept := acceptJSON
	if lw.metadataOnly {
		accept = metadata
	}
	return lw.client.Get().Resource(lw.resource).SetHeader("Accept", accept).VersionedParams(&options, metav1.ParameterCodec)
}

// ListWithContext gives the whole listing, read page by page: each page is observed before the next is read. It always
// asks for the newest state: a list that may be old could bring back what is gone. If the pages expire halfway it fails:
// half a listing is none.
func (lw *listWatch) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	whole := &observations{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		data, err := lw.request(options, acceptMetadataList).Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		page, err := lw.decoder.decodePage(data)
		if err != nil {
			return nil, err
		}
		whole.ListMeta = page.ListMeta
		whole.Items = append(whole.Items, page.Items...)
		if page.Continue == "" {
			return whole, nil
		}
		options.Continue = page.Continue
	}
}

// WatchWithContext watches from where the options say.
func (lw *listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return lw.request(options, acceptMetadata).Watch(ctx)
}

// List and Watch complete cache.ListerWatcher; the reflector calls the methods above.
func (lw *listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext without a context.
func (lw *listWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), options)
}

// pageSize bounds how many objects are decoded at a time where the server cannot stream a listing.
const pageSize = 500

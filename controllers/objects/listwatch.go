package objects

import (
	"context"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	acceptJSON = "application/json"
	// The metadata of objects, without their spec and status.
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// listWatch lists and watches one kind in all namespaces, as observations. It implements cache.ListerWatcherWithContext.
type listWatch struct {
	client       rest.Interface
	path         []string // of the resource
	metadataOnly bool
	decoder      *decoder
}

// get asks for the resource; metadata is the form in which its metadata alone is served. An answer that is no success
// is an error.
func (lw *listWatch) get(ctx context.Context, options metav1.ListOptions, metadata string) (*stream, error) {
	accept := acceptJSON
	if lw.metadataOnly {
		accept = metadata
	}
	var body io.ReadCloser
	err := retry.OnError(reconnects, isBroken, func() (err error) {
		body, err = lw.client.Get().AbsPath(lw.path...).SetHeader("Accept", accept).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).Stream(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newStream(body, lw.decoder), nil
}

// reconnects spaces the attempts to ask when the connection breaks before the answer begins: for a second in all.
var reconnects = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5}

// isBroken reports whether the connection is to blame, which another attempt replaces.
func isBroken(err error) bool {
	return net.IsProbableEOF(err) || net.IsConnectionReset(err) || net.IsHTTP2ConnectionLost(err) || net.IsTimeout(err)
}

func (lw *listWatch) getPage(ctx context.Context, options metav1.ListOptions) (*observations, error) {
	answer, err := lw.get(ctx, options, acceptMetadataList)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return answer.page()
}

// ListWithContext gives the whole listing, read page by page: each page is observed before the next is read. It always
// asks for the newest state: a list that may be old could bring back what is gone. If the pages expire halfway it fails:
// half a listing is none.
func (lw *listWatch) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	whole := &observations{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := lw.getPage(ctx, options)
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
	answer, err := lw.get(ctx, options, acceptMetadata)
	if err != nil {
		return nil, err
	}
	unreadable := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcherWithLogger(log.FromContext(ctx), answer, unreadable), nil
}

// List and Watch complete cache.ListerWatcher; the reflector calls the methods above.
func (lw *listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext without a context.
func (lw *listWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), options)
}

// pageSize bounds how many objects are asked for at a time where the server cannot stream a listing.
const pageSize = 500

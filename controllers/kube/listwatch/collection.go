package listwatch

import (
	"context"
	"fmt"
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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// How objects are served: whole, or their metadata without spec and status.
const (
	AcceptJSON         = "application/json"
	AcceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Collection is what the API server serves at a path: the objects of a resource everywhere, or in one namespace. It
// implements cache.ListerWatcherWithContext; all but FieldSelector is required.
type Collection struct {
	Client        rest.Interface
	Path          []string
	MetadataOnly  bool   // objects are served without their spec and status
	FieldSelector string // of the objects to be served; empty for all
	Decoder       Decoder
}

// get asks for the resource; metadata is the form in which its metadata alone is served. An answer that is no success
// is an error.
func (c *Collection) get(ctx context.Context, options metav1.ListOptions, metadata string) (*answer, error) {
	accept := AcceptJSON
	if c.MetadataOnly {
		accept = metadata
	}
	options.FieldSelector = c.FieldSelector
	var body io.ReadCloser
	err := retry.OnError(reconnects, isBroken, func() (err error) {
		request := c.Client.Get().AbsPath(c.Path...).SetHeader("Accept", accept).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion)
		if ptr.Deref(options.SendInitialEvents, false) {
			request.MaxRetries(1) // by itself it would come back ten times, as long after each other as it is told: see isPutOff
		}
		body, err = request.Stream(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newAnswer(body, c.Decoder), nil
}

// reconnects spaces the attempts to ask when the connection breaks before the answer begins: for a second in all.
var reconnects = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5}

// isBroken reports whether the connection is to blame, which another attempt replaces.
func isBroken(err error) bool {
	return net.IsProbableEOF(err) || net.IsConnectionReset(err) || net.IsHTTP2ConnectionLost(err) || net.IsTimeout(err)
}

func (c *Collection) getPage(ctx context.Context, options metav1.ListOptions) (*List, error) {
	answer, err := c.get(ctx, options, acceptMetadataList)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return answer.page()
}

// All gives the whole listing, read page by page: each page is decoded before the next is read. It always asks for the
// newest state: a list that may be old could bring back what is gone. If the pages expire halfway it starts over without
// pages, which cannot expire: a kind whose pages take longer than the API server keeps history would never be listed.
func (c *Collection) All(ctx context.Context) (*List, error) {
	whole := &List{}
	options := metav1.ListOptions{Limit: PageSize}
	for {
		page, err := c.getPage(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			whole, options = &List{}, metav1.ListOptions{}
			continue
		}
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

// ListWithContext is All, whatever the options say.
func (c *Collection) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// WatchWithContext watches from where the options say. A listing that is streamed is of the newest state too.
func (c *Collection) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	listing := ptr.Deref(options.SendInitialEvents, false)
	if listing {
		options.ResourceVersion = ""
	}
	answer, err := c.get(ctx, options, AcceptMetadata)
	if listing && isPutOff(err) {
		return nil, fmt.Errorf("stream a listing: %v", err) // not wrapped: see isPutOff
	}
	if err != nil {
		return nil, err
	}
	unreadable := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcherWithLogger(log.FromContext(ctx), answer, unreadable), nil
}

// isPutOff reports whether the reflector would ask for a streamed listing again and again by itself, and nobody would know why
// there is none. Any other error makes it ask for the pages, and the error of that is told.
func isPutOff(err error) bool {
	return apierrors.IsTooManyRequests(err) || net.IsConnectionRefused(err)
}

// List and Watch complete cache.ListerWatcher; the reflector calls the methods above.
func (c *Collection) List(options metav1.ListOptions) (runtime.Object, error) {
	return c.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext without a context.
func (c *Collection) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return c.WatchWithContext(context.Background(), options)
}

// PageSize bounds how many objects are asked for at a time where the server cannot stream a listing.
const PageSize = 500

// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The media types of whole objects, and of their metadata without spec and status.
const (
	AcceptJSON         = "application/json"
	AcceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Collection is what the API server serves at a path: all objects of a resource, or those in one namespace. It implements
// cache.ListerWatcherWithContext. Client, Path and Decoder are required.
type Collection struct {
	Client        rest.Interface
	Path          []string
	MetadataOnly  bool   // read objects without their spec and status
	FieldSelector string // selects the objects; empty for all
	LabelSelector string // likewise
	Decoder       Decoder
	Clock         clock.PassiveClock // for All
}

// get requests the resource; metadata is the media type for MetadataOnly. A response with an error code is an error.
func (c *Collection) get(ctx context.Context, options metav1.ListOptions, metadata string) (*answer, error) {
	accept := AcceptJSON
	if c.MetadataOnly {
		accept = metadata
	}
	options.FieldSelector, options.LabelSelector = c.FieldSelector, c.LabelSelector
	var body io.ReadCloser
	mayRetry := func(err error) bool { return ctx.Err() == nil && isBroken(err) }
	err := retry.OnError(reconnects, mayRetry, func() (err error) {
		request := c.Client.Get().AbsPath(c.Path...).SetHeader("Accept", accept).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion)
		if ptr.Deref(options.SendInitialEvents, false) {
			request.MaxRetries(1) // the default is 10 retries, each after the Retry-After of the server: see isPutOff
		}
		body, err = request.Stream(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newAnswer(body, c.Decoder), nil
}

// reconnects is the backoff after a connection that breaks before the response begins: about a second in all.
var reconnects = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5}

// isBroken reports whether the connection failed, so that a retry with another connection can succeed.
func isBroken(err error) bool {
	return net.IsProbableEOF(err) || net.IsConnectionReset(err) || net.IsHTTP2ConnectionLost(err) || net.IsTimeout(err)
}

// Page returns one page of a listing, or the whole listing, as the options ask.
func (c *Collection) Page(ctx context.Context, options metav1.ListOptions) (*List, error) {
	answer, err := c.get(ctx, options, acceptMetadataList)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return answer.page()
}

// All returns the whole listing. It always requests the newest state: an older list could bring back deleted objects. If its pages
// expire, it starts again without pages, which cannot expire.
func (c *Collection) All(ctx context.Context) (*List, error) {
	whole, err := c.pages(ctx, metav1.ListOptions{Limit: PageSize})
	if apierrors.IsResourceExpired(err) {
		return c.pages(ctx, metav1.ListOptions{})
	}
	return whole, err
}

// pages returns a listing. It requests a page as soon as the one before has begun, and decodes one at a time.
func (c *Collection) pages(ctx context.Context, options metav1.ListOptions) (*List, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a request for a page that is not read
	whole := &List{}
	for next := c.request(ctx, options); ; {
		response, err := next()
		if err != nil {
			return nil, err
		}
		response.begun = func(token string) { options.Continue = token; next = c.request(ctx, options) }
		began := c.Clock.Now()
		page, err := response.page()
		response.Close()
		if err != nil {
			return nil, err
		}
		options.Limit = sizeOf(len(page.Items), c.Clock.Since(began))
		whole.ListMeta, whole.Items = page.ListMeta, append(whole.Items, page.Items...)
		if page.Continue == "" {
			return whole, nil
		}
	}
}

// request sends the request for a page. The result waits for the response.
func (c *Collection) request(ctx context.Context, options metav1.ListOptions) func() (*answer, error) {
	var response *answer
	var err error
	var request sync.WaitGroup
	request.Go(func() { response, err = c.get(ctx, options, acceptMetadataList) })
	return func() (*answer, error) {
		request.Wait()
		return response, err
	}
}

// PageSize is how many objects the first pages of a listing have. Larger ones follow if it takes less than pageTime to decode them: for
// each page the API server goes through all objects behind it, so a million objects need large pages. But it ends a response that
// takes a minute, also because the page before is still being decoded.
const (
	PageSize    = 500
	maxPageSize = 10_000
	pageTime    = 2 * time.Second
)

// sizeOf returns the size of a page after one whose objects took some time.
func sizeOf(objects int, took time.Duration) int64 {
	return min(max(int64(objects)*int64(pageTime)/max(1, int64(took)), PageSize), maxPageSize)
}

// Version returns the resourceVersion of the newest state.
func (c *Collection) Version(ctx context.Context) (string, error) {
	page, err := c.Page(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return page.ResourceVersion, nil
}

// ListWithContext is All. It ignores the options.
func (c *Collection) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// WatchWithContext watches from the resourceVersion of the options. A streamed listing always has the newest state.
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

// isPutOff reports whether the reflector would retry a streamed listing endlessly and report no error. After any other error the
// reflector lists pages, and reports the error of that.
func isPutOff(err error) bool {
	return apierrors.IsTooManyRequests(err) || net.IsConnectionRefused(err)
}

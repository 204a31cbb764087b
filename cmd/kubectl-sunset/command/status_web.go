// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/web"
	"github.com/sunset-k8s/sunset/engine"
)

// The pages of status --web.
var webLinks = []report.Link{{Name: "Status", Path: "./"}, {Name: "Preview", Path: previewPage}}

const previewPage = "preview"

// serve serves the status and a preview of the cluster until the context ends. Each request reads the cluster again.
func (s *statusCommand) serve(ctx context.Context) error {
	started := time.Now()
	pageAt := func(page func(context.Context, time.Time) (*report.Page, error)) func(context.Context) (*report.Page, error) {
		return func(ctx context.Context) (*report.Page, error) {
			p, err := page(ctx, s.now.Add(time.Since(started)).UTC().Truncate(time.Second))
			if err == nil {
				p.Links = webLinks
			}
			return p, err
		}
	}
	pages := web.Pages{"": pageAt(s.statusPage), previewPage: pageAt(s.previewPage)}
	return web.Serve(ctx, pages, func(url string) {
		fmt.Fprintf(s.streams.Out, "Open %s in a browser on this machine; press Ctrl-C to stop.\n", url)
	})
}

func (s *statusCommand) statusPage(ctx context.Context, at time.Time) (*report.Page, error) {
	c, err := s.connection.connect()
	if err != nil {
		return nil, err
	}
	list, err := s.list(ctx, c)
	if err != nil {
		return nil, err
	}
	return report.OfStatus(list, at), nil
}

// previewPage is the page of a preview with the policies of the cluster, each in its own mode.
func (s *statusCommand) previewPage(ctx context.Context, at time.Time) (*report.Page, error) {
	loader, err := s.protection.loader(engine.Options{})
	if err != nil {
		return nil, err
	}
	in, err := load.Skim(&load.Files{}, loader)
	if err != nil {
		return nil, err
	}
	input := loader.Input(at)
	input.Namespace, input.Selector = s.namespace, labels.Everything()
	p := &previewCommand{previewer: previewer{streams: s.streams, namespace: s.namespace, connection: s.connection}}
	result, err := p.judgeLive(ctx, in, input, loader)
	if err != nil {
		return nil, err
	}
	return report.OfPreview(result), nil
}

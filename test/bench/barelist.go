// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// addBareList adds how long it takes to list the Jobs and Pods that are left, for a client that asks for each page while it
// reads the one before, as Sunset does, and ignores the answers.
func (l *environment) addBareList(ctx context.Context) error {
	server, began := l.plane.PID(cluster.APIServer), time.Now()
	before, err := cpu(server)
	if err != nil {
		return err
	}
	lists, listing := errgroup.WithContext(ctx)
	lists.Go(func() error { return ignoreList(listing, l.client.BatchV1().RESTClient(), "/apis/batch/v1/jobs") })
	lists.Go(func() error { return ignoreList(listing, l.client.CoreV1().RESTClient(), "/api/v1/pods") })
	if err := lists.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := cpu(server)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("a client that ignores the answers, %d objects listed", l.objects()-l.size.millionDue),
		took.Round(100*time.Millisecond).String(), fmt.Sprintf("%.0f s of CPU of the API server", (after-before).Seconds()))
	return nil
}

// continuation is the token for the next page. In a list, the metadata comes before the items.
var continuation = regexp.MustCompile(`"continue":"([^"]*)"`)

// ignoreList reads the pages of a list, and asks for each while it reads the one before.
func ignoreList(ctx context.Context, client rest.Interface, path string) error {
	ask := func(token string) func() (io.ReadCloser, error) {
		var page io.ReadCloser
		var err error
		var request sync.WaitGroup
		request.Go(func() {
			page, err = client.Get().AbsPath(path).SetHeader("Accept", "application/json").Param("limit", "10000").Param("continue", token).Stream(ctx)
		})
		return func() (io.ReadCloser, error) { request.Wait(); return page, err }
	}
	for answer := ask(""); answer != nil; {
		page, err := answer()
		if err != nil {
			return err
		}
		answer = nil
		metadata, err := io.ReadAll(io.LimitReader(page, 4<<10))
		if next := continuation.FindSubmatch(metadata); next != nil {
			answer = ask(string(next[1]))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, page)
		}
		if err := errors.Join(err, page.Close()); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// Command build builds files for browsers in the cache, and copies them to a new folder:
//
//	go run ./cmd/playground/build [-o FOLDER] engine|playground|site
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/sunset-k8s/sunset/cmd/playground/site"
)

func main() {
	out := flag.String("o", "", "new folder for the files; they stay in the cache if it is empty")
	base := flag.String("base", "/", "path of the site on its server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build(ctx, flag.Arg(0), *out, *base); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, what, out, base string) (err error) {
	var dir string
	switch what {
	case "engine":
		dir, err = site.Engine(ctx)
		dir = filepath.Dir(dir)
	case "playground":
		dir, err = site.Page(ctx)
	case "site":
		dir, err = site.Site(ctx, base)
	default:
		err = fmt.Errorf("%q is not known; name engine, playground or site", what)
	}
	if err != nil || out == "" {
		return err
	}
	return os.CopyFS(out, os.DirFS(dir))
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// fileFlags are kubectl's flags for the files to read.
type fileFlags struct {
	*genericclioptions.FileNameFlags
	progress *terminal.Progress // of reading; nil for none
}

func (f *fileFlags) add(flags *pflag.FlagSet) {
	f.FileNameFlags = &genericclioptions.FileNameFlags{
		Usage: `file, directory, URL, or "-" for standard input; can be repeated`, Filenames: &[]string{}, Kustomize: new(""), Recursive: new(false),
	}
	f.AddFlags(flags)
}

// areGiven reports whether the user named a file.
func (f *fileFlags) areGiven() bool { return len(*f.Filenames) > 0 || *f.Kustomize != "" }

// open finds the files. Arguments count as files too, so that -f *.yaml works.
func (f *fileFlags) open(args []string, stdin io.Reader) (*load.Files, error) {
	if len(*f.Filenames) == 0 && len(args) > 0 {
		return nil, fmt.Errorf("unexpected argument %q; name files with -f", args[0])
	}
	options := f.ToOptions()
	if options.Kustomize != "" && (len(options.Filenames) > 0 || options.Recursive) {
		return nil, errors.New("-k cannot be used together with -f or -R")
	}
	options.Filenames = slices.Concat(options.Filenames, args)
	files, err := manifests.Open(options, stdin)
	if err == nil {
		files.Progress = f.progress.Set
	}
	if err == nil && f.areGiven() && files.Len() == 0 {
		return nil, fmt.Errorf("no .yaml, .yml or .json file in %s; use -R to search subdirectories", strings.Join(options.Filenames, ", "))
	}
	return files, err
}

// protectionFlags are the controller's flags for protected kinds and namespaces.
type protectionFlags struct {
	allowKinds []string
	namespaces []string
}

func (f *protectionFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.allowKinds, "allow-kinds", nil, "value of --allow-kinds of the controller: protected kinds that policies may target, as Kind or Kind.group")
	flags.StringSliceVar(&f.namespaces, "protected-namespaces", policy.DefaultProtection("sunset-system").Namespaces,
		"value of --protected-namespaces of the controller: namespaces in which policies never delete objects")
}

func (f *protectionFlags) protection() policy.Protection {
	return policy.Protection{Namespaces: f.namespaces}.Allow(f.allowKinds...)
}

// priceFlags are the controller's flags for the prices of storage.
type priceFlags struct {
	prices   []string
	currency string
}

func (f *priceFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.prices, "prices", nil, "prices of a GiB of storage for a month, as `KIND[.GROUP][/CLASS]=PRICE`, such as PersistentVolumeClaim/fast=0.17; to show estimated costs")
	flags.StringVar(&f.currency, "currency", "", "currency of the prices, such as EUR")
}

func (f *priceFlags) parse() (*policy.Prices, error) {
	prices, err := policy.ParsePrices(f.currency, f.prices)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return prices, nil
}

// loader returns a loader with this protection. The options bound each evaluation.
func (f *protectionFlags) loader(options engine.Options) (*load.Loader, error) {
	compiler, err := engine.NewCompiler(options)
	if err != nil {
		return nil, err
	}
	return load.NewLoader(compiler, f.protection()), nil
}

// load opens the files and reads them with a function of package load. The caller closes the files, unless there is an error.
func (f *fileFlags) load(args []string, stdin io.Reader, p *protectionFlags, read func(*load.Files, *load.Loader) (*load.Contents, error)) (
	files *load.Files, loader *load.Loader, in *load.Contents, err error) {
	if files, err = f.open(args, stdin); err != nil {
		return nil, nil, nil, err
	}
	if loader, err = p.loader(engine.Options{}); err == nil {
		in, err = read(files, loader)
	}
	if err != nil {
		_ = files.Close()
	}
	return files, loader, in, err
}

// timeFlag is a time, or a duration from now: +7d. If past is set, it is a duration before now: 14d or -14d.
type timeFlag struct {
	now  time.Time
	past bool
	time time.Time
}

// Set implements pflag.Value.
func (t *timeFlag) Set(text string) error {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		t.time = at.UTC()
		return nil
	}
	wrong := errors.New("must be a time such as 2026-03-01T12:00:00Z, or a duration from now such as +7d")
	span, isSpan := strings.CutPrefix(text, "+")
	if t.past {
		wrong = errors.New("must be a time such as 2026-03-01T12:00:00Z, or a duration before now such as 14d")
		span, isSpan = strings.TrimPrefix(text, "-"), true
	}
	ttl, err := policy.ParseTTL(span)
	if err != nil || !isSpan {
		return wrong
	}
	if t.past {
		ttl = -ttl
	}
	t.time = t.now.UTC().Truncate(time.Second).Add(ttl)
	return nil
}

// String implements pflag.Value.
func (t *timeFlag) String() string {
	if t.time.IsZero() {
		return "now"
	}
	return t.time.Format(time.RFC3339)
}

// Type implements pflag.Value.
func (t *timeFlag) Type() string { return "time" }

// get returns the time, or now if it is not set.
func (t *timeFlag) get() time.Time {
	if t.time.IsZero() {
		return t.now.UTC().Truncate(time.Second)
	}
	return t.time
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/offline"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
)

// imageFlags name a list of images in the format of crictl, and set what the list does not contain.
type imageFlags struct {
	file        string
	node        nodeFlags
	unusedSince timeFlag
}

func (f *imageFlags) add(flags *pflag.FlagSet, now time.Time) {
	f.unusedSince = timeFlag{now: now, past: true}
	flags.StringVar(&f.file, "images", "", `file with the images of a node, in the format of "crictl images -o json"; "-" reads standard input`)
	f.node.add(flags)
	flags.Var(&f.unusedSince, "unused-since", "time since when each image of --images exists and is unused: RFC 3339, or a duration before now such as 14d")
}

func (f *imageFlags) read(stdin io.Reader) ([]engine.Image, error) {
	if f.file == "" {
		return nil, nil
	}
	from := stdin
	if f.file != manifests.Stdin {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	images, err := load.ReadCrictl(from, f.unusedSince.get())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	return images, nil
}

// judgeFiles evaluates the objects of the files, and the list of images.
func (p *previewCommand) judgeFiles(ctx context.Context, files *load.Files, in *load.Contents, input preview.Input) (*preview.Result, error) {
	images, err := p.images.read(p.streams.In)
	if err != nil {
		return nil, err
	}
	in.Images = in.Images || len(images) > 0
	result, said, err := offline.Preview(ctx, preview.Both(files.Feed(), preview.FromImages(images)), in, input)
	notes{p.streams.ErrOut}.all(said)
	return result, err
}

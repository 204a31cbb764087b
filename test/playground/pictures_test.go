// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/test/expect"
)

var pictures = flag.String("pictures", "", "directory for the pictures of README.md; empty for the directory of artifacts")

// largestPicture is how many bytes a picture of README.md may have.
const largestPicture = 300_000

// TestPicturesAreSmall takes the pictures of README.md, and writes them to -pictures.
func TestPicturesAreSmall(t *testing.T) {
	playground := openPlayground(t)
	playground.run(`document.querySelectorAll("#verdicts tbody button")[2].click()`)
	playground.settle()
	playground.run(`document.querySelector("#results").scrollTo(0, 0)`)
	playground.take("playground.png")
	report := openReport(t, append([]string{"preview"}, samplesAsFlags("finished-jobs", "windows", "keep-newest", "unused-configmaps")...)...)
	report.look("light", 1280, 800)
	report.take("report.png")
}

// take writes a picture of the window.
func (b *tab) take(name string) {
	b.t.Helper()
	screenshot, err := chromedp.Run(b.ctx, window)
	expect.NoError(b.t, err)
	picture, err := png.Decode(bytes.NewReader(screenshot))
	expect.NoError(b.t, err)
	var small bytes.Buffer
	expect.NoError(b.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, picture))
	if small.Len() > largestPicture {
		b.t.Errorf("%s has %d bytes, more than %d", name, small.Len(), largestPicture)
	}
	dir := *pictures
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	expect.NoError(b.t, os.MkdirAll(dir, 0o755))
	file := filepath.Join(dir, name)
	expect.NoError(b.t, os.WriteFile(file, small.Bytes(), 0o644))
	b.t.Logf("%s: %d bytes", file, small.Len())
}

// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/cmd/playground/site"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

var screenshots = flag.String("screenshots", "", "directory for all screenshots; empty to take none")

// TestMain ends Node and the browser, and writes a page with all screenshots.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if *screenshots != "" {
		err = os.MkdirAll(*screenshots, 0o755)
	}
	code := m.Run()
	theNode.end()
	err = errors.Join(err, stopBrowser())
	if *screenshots != "" && err == nil {
		err = writeIndex(*screenshots)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// writeIndex writes a page with the pictures of a directory.
func writeIndex(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		return err
	}
	page := "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Screenshots</title>\n<style>figure { display: inline-block; margin: 8px; vertical-align: top } img { max-width: 390px }</style>\n"
	for _, file := range files {
		name := filepath.Base(file)
		page += fmt.Sprintf("<figure><figcaption>%s</figcaption><a href=%q><img loading=\"lazy\" src=%q></a></figure>\n", strings.TrimSuffix(name, ".png"), name, name)
	}
	return os.WriteFile(filepath.Join(dir, "index.html"), []byte(page), 0o644)
}

// look is the size and color scheme of a screenshot.
type look struct {
	scheme        string
	width, height int64
}

// looks are all looks that are tested.
var looks = map[string]look{
	"desktop-light": {"light", 1440, 900},
	"desktop-dark":  {"dark", 1440, 900},
	"phone-light":   {"light", 390, 844},
	"phone-dark":    {"dark", 390, 844},
}

// someLooks returns all looks, or in short tests one of each scheme and size.
func someLooks() map[string]look {
	if long.Enabled() {
		return looks
	}
	return map[string]look{"desktop-light": looks["desktop-light"], "phone-dark": looks["phone-dark"]}
}

// theAxe is the script of axe-core.
var theAxe = once(func(ctx context.Context) (string, error) {
	packages, err := site.Packages(ctx, site.Web)
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(packages, "axe-core/axe.min.js"))
	return string(script), err
})

// checkLook writes a screenshot, runs axe-core with all rules or those with a tag, and checks that the page fits into the window.
func (b *tab) checkLook(name string, screenshot chromedp.Action[[]byte], tags ...string) {
	b.t.Helper()
	b.shoot(name, screenshot)
	axe, err := theAxe()
	expect.NoError(b.t, err)
	b.run(axe)
	for _, problem := range value[[]string](b, `axe.run(document, { resultTypes: ["violations"], runOnly: `+quote(tags)+` ?? undefined }).then(({ violations }) =>
		violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).join("; ")))`) {
		b.t.Errorf("%s: %s", name, problem)
	}
	if overflow := value[int](b, `document.documentElement.scrollWidth - innerWidth`); overflow > 0 {
		b.t.Errorf("%s: the page is %d pixels wider than the window", name, overflow)
	}
}

var (
	wholePage = chromedp.FullScreenshot(100)
	window    = chromedp.CaptureScreenshot()
)

// shoot writes a screenshot for people to look at, if they want any.
func (b *tab) shoot(name string, screenshot chromedp.Action[[]byte]) {
	b.t.Helper()
	if *screenshots != "" {
		png, err := chromedp.Run(b.ctx, screenshot)
		expect.NoError(b.t, err)
		b.save(name+".png", png)
	}
}

// save writes a file beside the screenshots.
func (b *tab) save(name string, data []byte) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	file := filepath.Join(*screenshots, name)
	expect.NoError(b.t, os.WriteFile(file, data, 0o644))
	b.t.Logf("%s: %d bytes", file, len(data))
}

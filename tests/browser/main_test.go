// Package browser opens the dashboard of the built program in a real Chromium, with simulated providers behind the gateway
// that break on command. It knows pages by what a person has of them: roles, names, text, the keyboard.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

const repo = "../.."

var (
	evergate string          // the program's file
	chromium context.Context // the browser; every page is opened in a profile of its own
)

// pictures is where the screenshots go: for people, and for whoever looks into a failure.
const pictures = "out"

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "evergate-browser-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if evergate = os.Getenv("EVERGATE"); evergate == "" {
		evergate = filepath.Join(dir, "evergate")
		build := exec.Command("go", "build", "-o", evergate, "./cmd/evergate")
		build.Dir = repo
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("go build ./cmd/evergate: %w\n%s", err, out)
		}
	}
	if err := errors.Join(os.RemoveAll(pictures), os.MkdirAll(pictures, 0o750)); err != nil {
		return 1, err
	}
	end, err := openBrowser()
	if err != nil {
		return 1, err
	}
	defer end()
	return m.Run(), nil
}

// openBrowser starts Chromium: $CHROMIUM, or what is installed.
func openBrowser() (end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("host-resolver-rules", "MAP "+rebound+" 127.0.0.1"), // a name that its owner points at this machine
		chromedp.Flag("lang", "en-US"),
		chromedp.DisableGPU,
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root with one, as in a container of a CI
	}
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, kill := chromedp.NewExecAllocator(context.Background(), options...)
	chromium, _ = chromedp.NewContext(allocator)
	if err := chromedp.Do(chromium); err != nil {
		kill()
		return nil, fmt.Errorf("chromium does not start (scripts/install-browser installs it; CHROMIUM names another): %w", err)
	}
	return func() { _ = chromedp.Cancel(chromium); kill() }, nil
}

package app

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"evergate/internal/config"
	"evergate/internal/mock"
)

// The file is read when its own changes have settled, soon after those of a link to it, and before long where only its
// neighbours change, however often they do.
func TestReloadOnChange(t *testing.T) {
	tests := []struct {
		name, changed string
		every         time.Duration
		times         int
		reloaded      time.Duration
	}{
		{"itself", "evergate.yaml", 0, 1, settle},
		{"itself, in steps", "evergate.yaml", 50 * time.Millisecond, 5, 200*time.Millisecond + settle},
		{"Kubernetes' link", "..data", 0, 1, settle},
		{"a busy log file beside it", "evergate.log", 40 * time.Millisecond, 100, glance},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
				dir, reloaded := t.TempDir(), time.Duration(0)
				start := time.Now()
				s.app.opts.Load = func() (*config.Config, error) {
					reloaded = time.Since(start)
					return parse(t, twoProviders), nil
				}
				f := &watched{name: filepath.Join(dir, "evergate.yaml"), watcher: &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}}
				if err := os.WriteFile(f.name, []byte("new"), 0o600); err != nil {
					t.Fatal(err)
				}
				go s.app.reloadOnChange(t.Context(), f)
				for range tt.times {
					f.watcher.Events <- fsnotify.Event{Name: filepath.Join(dir, tt.changed), Op: fsnotify.Write}
					time.Sleep(tt.every)
				}
				time.Sleep(2 * glance)
				synctest.Wait()
				if reloaded != tt.reloaded {
					t.Errorf("reloaded after %s, want %s", reloaded, tt.reloaded)
				}
			})
		})
	}
}

// A file behind a link is watched where it is; a pipe is never read, for it would be waited for.
func TestWatchedFile(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Skip("no file watching here:", err)
	}
	defer w.Close()
	f := &watched{name: filepath.Join(dir, "link.yaml"), watcher: w}
	real := filepath.Join(elsewhere, "real.yaml")
	if err := os.WriteFile(real, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, f.name); err != nil {
		t.Skip("no links here:", err)
	}
	f.follow()
	if !f.concerns(real) || !f.concerns(f.name) || f.concerns(filepath.Join(dir, "other")) {
		t.Errorf("it follows to %q", f.target)
	}
	if got := w.WatchList(); len(got) != 1 {
		t.Errorf("watched: %v", got)
	}
	if b, err := f.read(); string(b) != "x" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	f.name = dir
	if _, err := f.read(); err == nil {
		t.Error("what is no regular file was read")
	}
}

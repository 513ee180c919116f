package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a file must be quiet before it is read: editors write in several steps.
	settle = 100 * time.Millisecond
	// glance is how long after a change of anything else beside the file it is looked at, too.
	glance = time.Second
)

// watchFile reloads when the file's content changes. The folder is watched, not the file: editors and Kubernetes
// replace it. If the file is a link, so is the folder of what it leads to.
func (a *App) watchFile(ctx context.Context, file string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := w.Add(filepath.Dir(file)); err != nil {
		_ = w.Close()
		return err
	}
	f := &watched{name: file, watcher: w}
	f.follow()
	f.last, _ = f.read()
	a.served.Go(func() {
		defer w.Close() //nolint:errcheck // nothing is left to be lost
		a.reloadOnChange(ctx, f)
	})
	return nil
}

// watched is a file and what was last read of it.
type watched struct {
	name    string
	watcher *fsnotify.Watcher
	target  string // what the name leads to, if that is in another folder
	last    []byte
}

// reloadOnChange reloads until ctx is done.
func (a *App) reloadOnChange(ctx context.Context, f *watched) {
	look := time.NewTimer(time.Hour)
	look.Stop()
	soon := false // look is running
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-f.watcher.Events:
			switch {
			case !ok:
				return
			case f.concerns(event.Name):
				soon = true
				look.Reset(settle)
			case !soon: // a log file in the same folder, say, must not put off the look for ever
				soon = true
				look.Reset(glance)
			}
		case err, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			a.log.Warn("watching the config file", "error", err.Error())
		case <-look.C:
			soon = false
			f.follow()
			now, err := f.read()
			if err != nil || bytes.Equal(now, f.last) {
				continue
			}
			f.last = now
			_ = a.reloadFor("", byFile) // it says in the log what became of it
		}
	}
}

// concerns says whether a change of this name is likely one of the file: itself, or a link that Kubernetes swaps
// (..data).
func (f *watched) concerns(changed string) bool {
	base := filepath.Base(changed)
	return base == filepath.Base(f.name) || base == filepath.Base(f.target) || strings.HasPrefix(base, "..")
}

// follow watches the folder of what the file leads to, too.
func (f *watched) follow() {
	target, err := filepath.EvalSymlinks(f.name)
	if err != nil || target == f.target {
		return
	}
	if filepath.Dir(target) == filepath.Dir(f.name) {
		target = ""
	}
	if f.target != "" && filepath.Dir(f.target) != filepath.Dir(target) {
		_ = f.watcher.Remove(filepath.Dir(f.target)) // the folder may be gone
	}
	if f.target = target; target != "" {
		_ = f.watcher.Add(filepath.Dir(target)) // without it SIGHUP still reloads
	}
}

// read reads the file, if it is one: a pipe would be waited for.
func (f *watched) read() ([]byte, error) {
	info, err := os.Stat(f.name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", f.name)
	}
	return os.ReadFile(f.name)
}

package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must be quiet before it is read: editors write in several steps.
const settle = 100 * time.Millisecond

// watchFile reloads when the file's content changes. The folder is watched, not the file: editors and Kubernetes replace it.
func (a *App) watchFile(ctx context.Context, file string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := w.Add(filepath.Dir(file)); err != nil {
		_ = w.Close()
		return err
	}
	last, _ := os.ReadFile(file) //nolint:gosec // the operator's own config file
	a.served.Go(func() {
		defer w.Close() //nolint:errcheck // nothing is left to be lost
		quiet := time.NewTimer(time.Hour)
		quiet.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case _, ok := <-w.Events:
				if !ok {
					return
				}
				quiet.Reset(settle)
			case err, ok := <-w.Errors:
				if !ok {
					return
				}
				a.log.Warn("watching the config file", "error", err.Error())
			case <-quiet.C:
				now, err := os.ReadFile(file) //nolint:gosec // as above
				if err != nil || bytes.Equal(now, last) {
					continue
				}
				last = now
				_ = a.Reload() // it says in the log what became of it
			}
		}
	})
	return nil
}

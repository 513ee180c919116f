package handover

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pidFile is the file that names the process which serves; nil: there is none. It is replaced, never written in place: nobody
// reads half a number. The process that wrote it holds a lock on it until it ends, however it ends: without that it names nobody who serves,
// and perhaps a stranger who has the number by now. It is for one goroutine at a time.
type pidFile struct {
	path string
	held *os.File // nil: not written yet
}

// newPIDFile makes sure, before anything depends on it, that the file can be written.
func newPIDFile(path string) (*pidFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none is a pid file, too
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("pid file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("pid file: %w", err)
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return &pidFile{path: path}, nil
}

// write puts this process's id there.
func (p *pidFile) write() error {
	if p == nil {
		return nil
	}
	next := fmt.Sprintf("%s.%d", p.path, os.Getpid())
	f, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // who stops the process has to read it
	if err != nil {
		return fmt.Errorf("pid file: %w", err)
	}
	hold(f)
	if _, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err == nil {
		err = os.Rename(next, p.path)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(next)
		return fmt.Errorf("pid file: %w", err)
	}
	p.release()
	p.held = f
	return nil
}

func (p *pidFile) release() {
	if p.held != nil {
		_ = p.held.Close()
	}
	p.held = nil
}

// remove takes the file away unless it names another process by now.
func (p *pidFile) remove() {
	if p == nil {
		return
	}
	if pid, err := ReadPID(p.path); err == nil && pid == os.Getpid() {
		_ = os.Remove(p.path)
	}
	p.release()
}

// ReadPID gives the process that a pid file names.
func ReadPID(path string) (int, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%s names no process", path)
	}
	return pid, nil
}

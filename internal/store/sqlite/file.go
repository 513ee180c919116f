package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prepare makes sure that there is a file to open, and gives its absolute path: a new one is its owner's alone. It opens no file
// that is there: to close it would let go of locks which this process may have on it by another handle.
func prepare(path string) (string, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return path, plain("is not the path of a file: name one, or use memory: for a store that keeps nothing")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	info, err := os.Stat(path) //nolint:gosec // the operator names the file
	switch {
	case err == nil && info.IsDir():
		return path, plain("is a directory: name a file in it, such as " + filepath.Join(path, "evergate.db"))
	case err == nil && !info.Mode().IsRegular():
		return path, plain("is no regular file: name another one")
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return path, inaccessible(err)
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); { //nolint:gosec // as above
	case errors.Is(err, fs.ErrNotExist):
		return path, plain(fmt.Sprintf("the directory %s does not exist: make it, or name another file", dir))
	case err != nil:
		return path, inaccessible(err)
	case !info.IsDir():
		return path, plain(fmt.Sprintf("%s is no directory: name another file", dir))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) //nolint:gosec // as above
	switch {
	case errors.Is(err, fs.ErrExist): // another process was faster; it goes the same way
		return path, nil
	case err != nil:
		return path, plain(fmt.Sprintf("it cannot be made in %s (%v): let the user that runs the gateway write there, or name another file", dir, cause(err)))
	}
	return path, file.Close()
}

func inaccessible(err error) error {
	return plain(fmt.Sprintf("it cannot be reached (%v): let the user that runs the gateway go there, or name another file", cause(err)))
}

// cause gives the error without the path, which is said already.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

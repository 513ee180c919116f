package config

import (
	"errors"
	"io/fs"
	"os"
)

// Load reads a configuration file. The error is of type Problems, also for a file that cannot be read; errors.Is finds
// fs.ErrNotExist in it.
func Load(name string, env Lookup) (*Config, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, unreadable(name, err)
	}
	return Parse(name, data, env)
}

// unreadable says why a file could not be read.
func unreadable(name string, err error) Problems {
	message := "the file cannot be read: " + err.Error()
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		message = "there is no such file; give the path of one, or none at all to use the providers found in the environment"
	case errors.As(err, &pe):
		message = "the file cannot be read: " + pe.Err.Error()
	}
	return Problems{{File: name, Message: message, cause: err}}
}

// Parse reads a configuration from memory; name stands in messages. The error is of type Problems and lists every
// mistake of the file and of the environment variables that count.
func Parse(name string, data []byte, env Lookup) (*Config, error) {
	r := &reader{}
	root := readTree(&r.report, name, data, env)
	if root == nil {
		return nil, inOrder(r.problems)
	}
	f, ok := fileShape().read(r, root)
	if !ok {
		return nil, inOrder(r.problems)
	}
	b := &builder{reader: r, env: env, file: &f, vars: readVariables(r, env), root: root.at}
	if f.detect.or(false) {
		b.addDetected()
	}
	c, err := b.finish(name)
	if c != nil {
		c.Text = masked(root)
	}
	return c, err
}

// Detect makes a configuration from the environment alone: every provider whose variables are set, in the order of the
// preset table, on the default listener. found says for each which variable gave it away; with none the Config is nil
// and there is no error. The error is of type Problems.
func Detect(env Lookup) (c *Config, found []string, err error) {
	r := &reader{}
	b := &builder{reader: r, env: env, file: &file{}, vars: readVariables(r, env), root: place{file: environment}}
	found = b.addDetected()
	if len(found) == 0 && len(r.problems) == 0 {
		return nil, nil, nil
	}
	c, err = b.finish("")
	return c, found, err
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"evergate/internal/importer"
)

type importCmd struct {
	Format string `arg:"" help:"litellm, gomodel, portkey or bifrost."`
	File   string `arg:"" help:"The other gateway's configuration; - is standard input."`
	Out    string `short:"o" help:"Where ours is written; without it to standard output." env:"EVERGATE_IMPORT_OUT"`
	Force  bool   `help:"Replace the file named by --out if it is there already." env:"EVERGATE_IMPORT_FORCE"`
	Report string `help:"text or json: the form of the report on standard error." enum:"text,json" default:"text" env:"EVERGATE_IMPORT_REPORT"`
	Model  string `help:"What callers call the model that a Portkey config becomes." default:"default" env:"EVERGATE_IMPORT_MODEL"`
}

func (k *importCmd) Run(*cli) error { return k.run(os.Stdin, os.Stdout, os.Stderr) }

// maxImport is how much is read of a source: more than any of them may have, so that a larger one is refused and not cut.
const maxImport = 1 << 20

func (k *importCmd) run(in io.Reader, out, report io.Writer) error {
	data, err := k.read(in)
	if err != nil {
		return err
	}
	result, err := importer.Convert(importer.Source{Format: k.Format, Name: filepath.Base(k.File), Data: data, Model: k.Model})
	if err != nil {
		return err
	}
	if err := k.write(out, result.YAML); err != nil {
		return err
	}
	if k.Report == "json" {
		encoder := json.NewEncoder(report)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result.Report)
	}
	_, err = io.WriteString(report, result.Report.Text())
	return err
}

func (k *importCmd) read(in io.Reader) ([]byte, error) {
	if k.File == "-" {
		return io.ReadAll(io.LimitReader(in, maxImport))
	}
	f, err := os.Open(k.File)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxImport))
}

// write writes the configuration. A file that is there already is not replaced unasked: it may be the one in force.
func (k *importCmd) write(out io.Writer, text []byte) error {
	if k.Out == "" {
		_, err := out.Write(text)
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if k.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(k.Out, flags, 0o600)
	if os.IsExist(err) {
		return fmt.Errorf("%s is there already; name another file, or say --force: %w", k.Out, fs.ErrExist)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

package importer

import (
	"os"
	"path/filepath"
	"testing"
)

// EVERGATE_IMPORT_CORPUS names a directory with a folder for each format, whose files are converted: those that the gateways publish, say. What comes of
// each is shown.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("EVERGATE_IMPORT_CORPUS")
	if dir == "" {
		t.Skip("EVERGATE_IMPORT_CORPUS names no directory")
	}
	for _, format := range Formats() {
		files, _ := filepath.Glob(filepath.Join(dir, format, "*"))
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			result, err := Convert(Source{Format: format, Name: filepath.Base(file), Data: data})
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			r := &result.Report
			t.Logf("%s\t%d\t%d\t%d\t%d", r.File, r.Keys, r.Carried, r.Approximated, r.Left)
			if testing.Verbose() && os.Getenv("EVERGATE_IMPORT_SHOW") != "" {
				t.Logf("%s\n%s", result.YAML, r.Text())
			}
		}
	}
}
